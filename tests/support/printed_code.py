"""Code on the pages of the site and in the README; `python -m tests.support.printed_code [PAGE ...]` writes what it prints today.

The blocks of a page are run in their order, in one folder that has nothing but `examples/` at first. Blocks of Python share their
names; what they print stands in a block `text` right below. A console block has commands, each after a `$` if its output is
printed below it. In printed output a line `...` stands for lines left out. It is that of a terminal of 80 characters.
"""

import contextlib
import io
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from tests.support.command_line import run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FOLDERS = ("start", "ideas", "recipes", "skill")
QUESTIONS = ("model_checks", "planning", "rectified", "which_question")
PAGES = sorted(
    [
        README,
        ROOT / "docs/outreach/description.md",
        *(ROOT / f"docs/{name}.md" for name in ("index", *QUESTIONS)),
        *(page for folder in FOLDERS for page in ROOT.glob(f"docs/{folder}/*.md")),
    ]
)
BLOCK = re.compile(
    r"^```(console|python)\n(.*?)^```\n(?:\n?^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
NOT_RUN = (
    "uv run pytest",
    "# downloads",
    "pip install raterzoo",
)  # the tests themselves, and what needs a network
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
LEFT_OUT = "..."


def steps(text):
    """Return the steps of a page: a command or block of Python, the lines printed below it or None, and what it is."""
    found = []
    for kind, body, printed in BLOCK.findall(text):
        if kind == "python":
            found.append((body, printed.splitlines() or None, kind))
        else:
            found += [(command, lines, kind) for command, lines in commands(body) if is_run(command)]
    return found


def is_run(command):
    return not any(mark in command for mark in NOT_RUN)


def commands(body):
    """Return the commands of a console block, each with the lines printed below it or None."""
    lines = body.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    if not starts:
        return [(line, None) for line in lines]
    return [
        (lines[a].removeprefix("$ "), lines[a + 1 : b] or None) for a, b in pairwise([*starts, len(lines)])
    ]


def outputs(page_steps):
    """Run the steps of a page in the working folder, and yield the lines that each prints."""
    names = {"__name__": "__page__"}
    for code, _, kind in page_steps:
        yield output_of_command(code) if kind == "console" else output_of_python(code, names)


def output_of_command(command):
    words = shlex.split(command, comments=True)
    result = run(*words[words.index("raterzoo") + 1 :])
    if result.exit_code != 0:
        raise AssertionError(
            f"{command}: exit code {result.exit_code}\n{result.output}"
        ) from result.exception
    return [line.rstrip() for line in result.output.splitlines()]


def output_of_python(code, names):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "page", "exec"), names)
    return [line.rstrip() for line in printed.getvalue().splitlines()]


def agree(printed, found):
    """Whether the lines printed on a page are those found, up to lines left out and `alike` numbers."""
    if LEFT_OUT not in printed:
        return len(printed) == len(found) and all(map(alike, printed, found))
    at = printed.index(LEFT_OUT)
    head, tail = printed[:at], printed[at + 1 :]
    enough = len(found) > len(head) + len(tail)
    return enough and all(map(alike, head + tail, found[:at] + found[len(found) - len(tail) :]))


def alike(printed, found):
    """Whether two lines have the same words and counts, and figures that another processor's draws may give.

    These are decimals and percentages within three of the last digit, and effective sample sizes within a
    fifth.
    """
    texts = [" ".join(NUMBER.sub("#", line).split()) for line in (printed, found)]
    return texts[0] == texts[1] and all(map(_close, NUMBER.finditer(printed), NUMBER.finditer(found)))


def _close(printed, found):
    text, line, other = printed[0], printed.string, found[0]
    a, b = (float(number.replace(",", "")) for number in (text, other))
    if line[: printed.start()].endswith("ESS >= "):
        return abs(a - b) <= 0.2 * a
    if "e" in text or "e" in other:
        return abs(math.log10(a / b)) <= 0.5  # a Monte-Carlo error
    drawn = "." in text or bool(re.match(r"( to [\d.,]+)? ?%", line[printed.end() :]))
    digits = len(text.partition(".")[2])
    return abs(a - b) <= 3.5 * 10**-digits if drawn else a == b


def fresh_folder(path):
    """Make a folder in which a page can be run."""
    shutil.copytree(ROOT / "examples", path / "examples", ignore=shutil.ignore_patterns("__*"))
    return path


def rewritten(text):
    """Return a page with today's output, with as many lines left out as before."""
    found = outputs(steps(text))

    def block(match):
        kind, body, printed = match.groups()
        if kind == "python":
            lines = next(found)
            if printed is None:
                return match[0]
            return match[0].replace(
                f"```text\n{printed}", f"```text\n{as_before(printed.splitlines(), lines)}"
            )
        dollar = "$ " if any(line.startswith("$ ") for line in body.splitlines()) else ""
        new = "".join(
            f"{dollar}{command}\n" + (as_before(lines, next(found) if is_run(command) else lines))
            for command, lines in commands(body)
        )
        return match[0].replace(body, new)

    return BLOCK.sub(block, text)


def as_before(printed, found):
    """Return the lines found as text, with lines left out as in those printed; nothing where nothing was printed."""
    if printed is None:
        return ""
    if LEFT_OUT in printed:
        at = printed.index(LEFT_OUT)
        tail = len(printed) - at - 1
        found = [*found[:at], LEFT_OUT, *found[len(found) - tail :]]
    return "".join(f"{line}\n" for line in found)


def main(pages):
    """Write pages with the output that their code has now."""
    os.environ["COLUMNS"] = "80"
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(fresh_folder(Path(folder)))
            page.write_text(rewritten(page.read_text()))
            os.chdir(ROOT)


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]] or PAGES)
