"""The README's commands and models; `python -m tests.support.readme` writes what the commands print today, and the models.

A console block has commands, each after a `$` if its output is printed below it; there, a line `...` stands for lines left
out. Blocks begin in a folder that has nothing but `examples/`. The output is that of a terminal of 80 characters.
"""

import math
import os
import re
import shlex
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

from raterzoo import models

from tests.support.command_line import run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
TABLE = re.compile(r"\| model \| what it is .*?(?=\n\n)", re.DOTALL)
NOT_RUN = ("uv run pytest", "# downloads")  # these tests, and what needs a network
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
LEFT_OUT = "..."


def table_of_models():
    """Return the table of models, from the catalog."""
    rows = ["| model | what it is | data | drawn by |", "|---|---|---|---|"]
    for entry in models.catalog.values():
        rows.append(f"| `{entry.name}` | {entry.summary} | {entry.data} | {', '.join(entry.methods)} |")
    return "\n".join(rows)


def blocks(readme):
    """Return for each console block its steps, (command, lines printed below it or None), of the commands that are run."""
    found = [steps(body) for body in BLOCK.findall(readme)]
    return [own for own in found if own]


def steps(body):
    lines = body.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    if not starts:
        pairs = [(line, None) for line in lines]
    else:
        pairs = [
            (lines[a].removeprefix("$ "), lines[a + 1 : b] or None)
            for a, b in pairwise([*starts, len(lines)])
        ]
    return [(command, printed) for command, printed in pairs if not any(mark in command for mark in NOT_RUN)]


def output_of(command):
    """Run a command of the README in the working folder and return the lines it prints."""
    words = shlex.split(command, comments=True)
    result = run(*words[words.index("raterzoo") + 1 :])
    if result.exit_code != 0:
        raise AssertionError(
            f"{command}: exit code {result.exit_code}\n{result.output}"
        ) from result.exception
    return [line.rstrip() for line in result.output.splitlines()]


def agree(printed, found):
    """Whether the lines printed in the README are those found, up to lines left out and `alike` numbers."""
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
    drawn = "." in text or line[printed.end() :].startswith("%")
    digits = len(text.partition(".")[2])
    return abs(a - b) <= 3.5 * 10**-digits if drawn else a == b


def fresh_folder(path):
    """Make a folder in which a block can be run."""
    shutil.copytree(ROOT / "examples", path / "examples", ignore=shutil.ignore_patterns("__*"))
    return path


def rewritten(body):
    """Return a console block with today's output, with as many lines left out as before."""
    pairs = steps(body)
    if not any(printed for _, printed in pairs):
        return body
    text = ""
    for command, printed in pairs:
        found = output_of(command)
        if printed and LEFT_OUT in printed:
            at = printed.index(LEFT_OUT)
            tail = len(printed) - at - 1
            found = [*found[:at], LEFT_OUT, *found[len(found) - tail :]]
        text += "\n".join([f"$ {command}", *(found if printed else ())]) + "\n"
    return text


def main():
    """Write the README with the catalog of now, and the output that its commands have now."""
    os.environ["COLUMNS"] = "80"
    text = TABLE.sub(lambda _: table_of_models(), README.read_text())
    README.write_text(text)
    for body in BLOCK.findall(text):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(fresh_folder(Path(folder)))
            text = text.replace(body, rewritten(body))
            os.chdir(ROOT)
    README.write_text(text)


if __name__ == "__main__":
    main()
