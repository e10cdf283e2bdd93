"""Spoil files and tables for as long as is asked, and show what no door should do: `python tests/fuzz/run.py --minutes 60`.

Every input is passed in a process that is watched, so that a crash of a library is a finding too. Each finding is written to a
folder with the seed that makes its input again: `python tests/fuzz/run.py --seed 17`.
"""

import argparse
import collections
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from polars.exceptions import PanicException

from tests.support.fuzz_doors import FILE_DOORS, FRAMES, JOURNAL_DOORS, TABLE_DOORS, Finding, judged
from tests.support.fuzz_journals import spoil_journal
from tests.support.fuzz_mutations import spoil_bytes, spoil_table
from tests.support.fuzz_posteriors import POSTERIORS, command, spoil_posterior, write_posterior_to
from tests.support.fuzz_seeds import FORMATS, TABLES, written

PATIENCE = 120  # wall seconds that one input may take before its process is ended


def of_table(rng: random.Random, folder: Path) -> tuple[str, str]:
    """Pass a spoilt table, in a frame of some library, through a door."""
    del folder
    kind = rng.choice([*TABLE_DOORS])
    frame = rng.choice([*FRAMES])
    table = spoil_table(TABLES[kind], rng)
    try:
        given = FRAMES[frame](table)
    except (Exception, PanicException):  # the frame library refuses it: nothing to pass
        return f"{kind} in {frame}", "no such frame"
    return f"{kind} in {frame}", judged(TABLE_DOORS[kind], given)


def of_file(rng: random.Random, folder: Path) -> tuple[str, str]:
    """Pass a file with spoilt cells or bytes through a door."""
    kind = rng.choice([*FILE_DOORS])
    suffix = rng.choice([*FORMATS])
    if rng.random() < 0.4:
        try:
            content = FORMATS[suffix](spoil_table(TABLES[kind], rng))
        except Exception:  # the cells have no form in this format
            return f"{kind} as {suffix}", "no such file"
    else:
        content = written(kind, suffix)
    if rng.random() < 0.7:
        content = spoil_bytes(content, rng, written(rng.choice([*TABLES]), suffix))
    path = folder / f"t{suffix}"
    path.write_bytes(content)
    return f"{kind} as {suffix}", judged(FILE_DOORS[kind], path)


def of_posterior(rng: random.Random, folder: Path) -> tuple[str, str]:
    """Score predictions against a spoilt posterior."""
    suffix = rng.choice(POSTERIORS)
    path = spoil_posterior(suffix, rng, folder)
    predictions = folder / "p.csv"
    predictions.write_bytes(written("ranked", ".csv"))
    asked = rng.choice(
        (("evaluate", path, predictions), ("evaluate", path, predictions, "--metric", "top-3-accuracy"))
    )
    return f"posterior {suffix}", judged(lambda own: command(*own), asked)


def of_journal(rng: random.Random, folder: Path) -> tuple[str, str]:
    """Read a spoilt file of a journal."""
    kind, path = rng.choice([*JOURNAL_DOORS]), folder / "journal.npz"
    path.write_bytes(spoil_journal(kind, rng))
    return f"journal {kind}", judged(JOURNAL_DOORS[kind], path)


COMMANDS = {
    "rankings": ("check", "{}"),
    "labels": ("check", "{}", "--kind", "labels"),
    "wide": ("check", "{}", "--kind", "labels", "--layout", "wide"),
    "counts": (
        "equivalence",
        "{}",
        "{predictions}",
        "--layout",
        "counts",
        "--bootstrap",
        "3",
        "--max-raters",
        "3",
    ),
    "comparisons": ("check", "{}", "--kind", "comparisons"),
    "scores": ("check", "{}", "--kind", "scores"),
    "levels": ("check", "{}", "--kind", "scores", "--layout", "counts"),
    "ranked": ("evaluate", "{posterior}", "{}"),
    "scored": ("evaluate", "{posterior}", "{}", "--metric", "log-loss"),
    "groups": ("evaluate", "{posterior}", "{predictions}", "--by", "{}"),
    "item_groups": ("evaluate", "{posterior}", "{predictions}", "--by", "{}"),
}


def of_command(rng: random.Random, folder: Path) -> tuple[str, str]:
    """Run a command on a file with spoilt cells or bytes."""
    kind = rng.choice([*COMMANDS])
    suffix = rng.choice([*FORMATS])
    try:
        content = FORMATS[suffix](spoil_table(TABLES[kind], rng))
    except Exception:  # the cells have no form in this format
        return f"{kind} as {suffix}", "no such file"
    if rng.random() < 0.3:
        content = spoil_bytes(content, rng, written(rng.choice([*TABLES]), suffix))
    path, predictions, posterior = folder / f"t{suffix}", folder / "p.csv", folder / "good.nc"
    path.write_bytes(content)
    predictions.write_bytes(written("scored" if kind == "counts" else "ranked", ".csv"))
    if not posterior.exists():
        write_posterior_to(posterior)
    names = {"predictions": predictions, "posterior": posterior}
    asked = [part.format(path, **names) for part in COMMANDS[kind]]
    return f"{asked[0]} {kind} as {suffix}", judged(lambda own: command(*own), asked)


KINDS = {
    "table": of_table,
    "file": of_file,
    "posterior": of_posterior,
    "command": of_command,
    "journal": of_journal,
}
SHARES = (8, 8, 1, 2, 4)  # commands are slow


def once(seed: int, folder: Path) -> tuple[str, str]:
    """Make the input of a seed and pass it."""
    rng = random.Random(seed)
    return KINDS[rng.choices([*KINDS], SHARES)[0]](rng, folder)


def work(first: int, until: float, at: Any, found: Any) -> None:
    """Pass one input after another, and tell the parent of findings."""
    counts: collections.Counter[str] = collections.Counter()
    messages, watcher = set(), os.getppid()
    with tempfile.TemporaryDirectory() as name:
        seed = first
        while time.time() < until and os.getppid() == watcher:
            at.value = seed
            try:
                _, outcome = once(seed, Path(name))
                verdict = outcome if outcome in ("valid", "no such frame", "no such file") else "refused"
                counts[verdict] += 1
                messages.add(outcome[:40])
            except Finding as finding:
                counts["finding"] += 1
                found.put((seed, str(finding), traceback.format_exc()))
            seed += 1
    found.put((seed, None, dict(counts) | {"kinds of messages": len(messages)}))


def main() -> None:
    """Run for the minutes that are asked, or one seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    asked = parser.parse_args()
    if asked.seed is not None:
        with tempfile.TemporaryDirectory() as name:
            print(once(asked.seed, Path(name)))
        return
    watch(asked.first, time.time() + 60 * asked.minutes, asked.out)


def watch(first: int, until: float, out: Path) -> None:
    """Start workers one after the other until the time is over; each ends at the first crash or hang."""
    context = multiprocessing.get_context("fork")
    found, at = context.Queue(), context.Value("q", first)
    places: collections.Counter[str] = collections.Counter()
    while time.time() < until:
        worker = context.Process(target=work, args=(first, until, at, found))
        worker.start()
        last, since = first, time.time()
        while worker.is_alive() or not found.empty():
            worker.join(0.2)
            while not found.empty():
                note(out, places, *found.get())
            if at.value != last:
                last, since = at.value, time.time()
            elif worker.is_alive() and time.time() - since > PATIENCE:
                note(out, places, last, "hangs", "no end")
                os.kill(worker.pid, 9)
        if worker.exitcode:
            note(out, places, at.value, f"the process ended with {worker.exitcode}", "")
        first = at.value + 1
    for place, times in places.most_common():
        print(f"{times:6,}  {place}")


def note(out: Path, places: collections.Counter, seed: int, finding: str | None, trace: object) -> None:
    """Keep the first findings of each place."""
    if finding is None:
        print(f"to seed {seed:,}: {trace}", flush=True)
        return
    frames = [line.strip() for line in str(trace).splitlines() if line.startswith("  File")]
    own = [
        frame
        for frame in frames
        if "tests" not in frame and "fuzz.py" not in frame and "lib/python" not in frame
    ]
    place = f"{finding[:60]!r} {own[-1][-80:] if own else ''}"
    places[place] += 1
    if places[place] <= 3:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{seed}.txt").write_text(f"{finding}\n\n{trace}", errors="backslashreplace")
        print(f"seed {seed}: {place}", flush=True)


if __name__ == "__main__":
    main()
