"""Memory that a process may still take: of the machine, and of its control groups (Docker, Kubernetes, SLURM)."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

UNLIMITED = 2**60  # bytes; version 1 writes a number above this where there is no limit


class GroupFiles(NamedTuple):
    """Names of the files of a control group, and of the file cache that is dropped first in its statistics."""

    limit: str
    used: str
    dropped: str


VERSION_2 = GroupFiles("memory.max", "memory.current", "inactive_file")
VERSION_1 = GroupFiles("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_memory(root: Path = Path("/")) -> float:
    """Return the bytes that this process may still take; infinite where the system does not say (macOS, Windows)."""
    return min([_of_machine(root), *(_of_group(folder, files) for folder, files in _groups(root))])


def _of_machine(root: Path) -> float:
    """Bytes that the machine has available."""
    line = next((x for x in _lines(root / "proc/meminfo") if x.startswith("MemAvailable:")), "")
    kilobytes = _number(line.removeprefix("MemAvailable:").removesuffix("kB"))
    return math.inf if kilobytes is None else 1024 * kilobytes


def _groups(root: Path) -> Iterator[tuple[Path, GroupFiles]]:
    """Yield the folders of the control groups of this process and of all groups that these are in."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            mounts, files = ("sys/fs/cgroup", "sys/fs/cgroup/unified"), VERSION_2
        elif "memory" in controllers.split(","):
            mounts, files = ("sys/fs/cgroup/memory",), VERSION_1
        else:
            continue
        parts = [part for part in path.split("/") if part]
        if ".." in parts:  # outside what the container sees
            parts = []
        # a container sees its own group as the mount, though the path may be the host's: then only the mount exists
        for mount in mounts:
            yield from ((root.joinpath(mount, *parts[:n]), files) for n in range(len(parts), -1, -1))


def _of_group(folder: Path, files: GroupFiles) -> float:
    """Bytes that a control group leaves; infinite without a limit."""
    limit, used = (_number("".join(_lines(folder / name))) for name in (files.limit, files.used))
    if limit is None or used is None or limit >= UNLIMITED:
        return math.inf
    words = (line.partition(" ") for line in _lines(folder / "memory.stat"))
    statistics = {name: value for name, _, value in words}
    return max(0.0, limit - used + (_number(statistics.get(files.dropped, "")) or 0))


def _number(text: str) -> int | None:
    """Return the number that a text is; None for any other ("max", or empty)."""
    return int(text) if text.strip().isdecimal() else None


def _lines(path: Path) -> list[str]:
    """Return the lines of a file; none if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
