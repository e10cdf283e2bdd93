"""Data sets as tables: the examples of the package; public ones, from their authors and checked by hash, or from packages."""

import hashlib
import json
import os
import urllib.request
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError

from .data_conversions import CONVERSIONS
from .terminal import print_table, print_text

# what comes with the package: folder of the repository, and the file to begin with
BROUGHT = {"examples": ("examples", "README.md"), "skill": ("docs/skill", "SKILL.md")}
RAW_FILE = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def _datasets() -> dict[str, dict[str, Any]]:
    """Return the available data sets, by name."""
    return json.loads(files(__package__ or "raterzoo.cli").joinpath("datasets.json").read_text("utf-8"))


def copy_folder(name: str, folder: Path) -> None:
    """Copy a folder of the package; raise ValueError, and copy nothing, where a file of `folder` would change."""
    if name not in BROUGHT:
        raise ValueError(f"{name!r} does not come with raterzoo; what does: {', '.join(BROUGHT)}")
    source, first = BROUGHT[name]
    own = files("raterzoo").joinpath(source)
    brought = [file for file in own.iterdir() if file.name.endswith((".csv", ".json", ".md"))]
    for file in brought:
        at = folder / file.name
        if at.exists() and not (at.is_file() and at.read_bytes() == file.read_bytes()):
            raise ValueError(
                f"{at} is there already, with other content; nothing was copied: name another folder"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for file in brought:
        (folder / file.name).write_bytes(file.read_bytes())
    print_text(f"{len(brought)} files in {folder}; begin with {folder / first}")


def list_datasets() -> None:
    """Print the available data sets."""
    print_table(
        [
            {"name": name, "what": entry["about"], "licence": entry["licence"], "source": entry["repository"]}
            for name, entry in _datasets().items()
        ]
    )


def fetch_dataset(name: str, out: Path) -> None:
    """Download a data set and check its hashes, unless installed packages bring it, and write its tables to the folder `out`.

    The hash of a file is pinned, or that of the table that is made of it. Raises ValueError if there is no such data set, a file
    cannot be downloaded, or a hash is not the pinned one; nothing is left behind then.
    """
    datasets = _datasets()
    if name not in datasets:
        raise ValueError(f"there is no data set {name!r}; the data sets are {', '.join(datasets)}")
    if name in BROUGHT:
        raise ValueError(f"these are no download: `raterzoo data copy {name}` copies them")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; name a folder for the tables by --out")
    entry = datasets[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "raterzoo" / name
    raw = [_fetched(entry, path, pinned, folder) for path, pinned in entry.get("files", {}).items()]
    with TemporaryDirectory() as made:
        try:
            CONVERSIONS[name](raw, Path(made))
            for table, pinned in entry.get("tables", {}).items():
                if (found := _hash((Path(made) / table).read_bytes(), pinned)[1]) != pinned:
                    raise ValueError(f"{table} of them has the SHA-256 {found}; {pinned} is pinned")
        except (LookupError, ValueError, TypeError, AttributeError) as problem:
            # files that are known by their table alone
            doubted = [path for path, pinned in entry.get("files", {}).items() if pinned is None]
            for path in doubted:
                (folder / path).unlink()
            raise ValueError(
                f"{' or '.join(doubted) or 'a file'} of {entry['repository']} is not what it was, so that none is used "
                f"({problem}); fetch again, or download it by hand and put it in place in {folder}"
            ) from problem
        out.mkdir(parents=True, exist_ok=True)
        for table in sorted(Path(made).iterdir()):
            target = out / table.name
            if target.is_file() and target.read_bytes() == table.read_bytes():
                print_text(f"{target} is there already")
            else:
                _write_whole(target, table.read_bytes())
                print_text(f"wrote {target}")


def _hash(content: bytes, pinned: str) -> tuple[str, str]:
    """Name and value of the hash of a content that is pinned: a git blob id if it has 40 digits, SHA-256 otherwise."""
    if len(pinned) == 40:
        return "git blob id", hashlib.sha1(
            b"blob %d\0" % len(content) + content, usedforsecurity=False
        ).hexdigest()
    return "SHA-256", hashlib.sha256(content).hexdigest()


def _fetched(entry: dict[str, Any], path: str, pinned: str | None, folder: Path) -> Path:
    """Return a file, with the pinned hash if there is one, from the cache or the network."""
    place = {"repository": entry["repository"], "commit": entry["commit"]}
    url = RAW_FILE.format(**place | entry.get("elsewhere", {}).get(path, {}), path=path)
    kept = folder / path
    if kept.exists() and (pinned is None or _hash(kept.read_bytes(), pinned)[1] == pinned):
        return kept
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
    except (OSError, HTTPException) as problem:
        if isinstance(problem, HTTPError):
            problem.close()
        raise ValueError(
            f"{url} cannot be reached ({type(problem).__name__}); download it by hand and put it in place as {kept}"
        ) from problem
    if pinned is not None and (found := _hash(content, pinned))[1] != pinned:
        raise ValueError(
            f"{url} has the {found[0]} {found[1]}; {pinned} is pinned, so that it is not used; fetch "
            f"again, or download it by hand and put it in place as {kept}"
        )
    kept.parent.mkdir(parents=True, exist_ok=True)
    _write_whole(kept, content)
    return kept


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file whole, or leave what was there: no half a file remains of a full disk or an interruption."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
