"""Nothing needs Unix: modules that only it has are optional, text has a named encoding, and workers are spawned."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("posterior", "models", "inference", "evaluation", "reports", "cli")
SOURCES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
UNIX_ONLY = {"crypt", "fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
TEXT = {"read_text", "write_text"}  # and the function open
AS_ELSEWHERE = f"""
import multiprocessing, sys
sys.modules |= dict.fromkeys({sorted(UNIX_ONLY - {"posix"})!r})  # None: importing them fails
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    from raterzoo.cli import main
    main()
"""
TABLE = "item,rater,label\n" + "".join(
    f"{item},{rater},{label}\n"
    for item, labels in {"Zoë": "日日é", "x 2": "ééé", "x3": "日é日"}.items()
    for rater, label in zip(("André", "Bob", "Čeněk"), labels, strict=True)
)


def found_in(source):
    """Return the modules that a file cannot do without, and the lines that read or write text in the system's encoding."""
    nodes = [*ast.walk(ast.parse(source))]
    optional = {
        id(node)
        for attempt in nodes
        if isinstance(attempt, ast.Try) and any("ImportError" in ast.unparse(own) for own in attempt.handlers)
        for node in attempt.body
    }
    needed, lines = set(), []
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in optional:
            needed |= {getattr(node, "module", None)} | {own.name for own in node.names}
        if isinstance(node, ast.Call) and (
            getattr(node.func, "attr", "") in TEXT or ast.unparse(node.func) == "open"
        ):
            call = ast.unparse(node)
            binary = call.startswith("open(") and "b'" in call
            if "encoding" not in call and "utf-8" not in call and not binary:
                lines.append(node.lineno)
    return needed, lines


def test_nothing_needs_unix_or_its_encoding():
    for path in SOURCES:
        needed, lines = found_in(path.read_text())
        assert not needed & UNIX_ONLY and not lines, (path, needed & UNIX_ONLY, lines)
    needed, lines = found_in("import fcntl\npath.read_text()\nopen(path)\nopen(path, 'rb')")
    assert "fcntl" in needed and lines == [2, 3]


def as_elsewhere(folder, *arguments):
    """Run a command as on Windows: no module of Unix, ASCII files by default, a pipe in cp1252, spawned workers."""
    (folder / "table.csv").write_text(TABLE, encoding="utf-8")
    (folder / "elsewhere.py").write_text(AS_ELSEWHERE, encoding="utf-8")
    settings = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "elsewhere.py", *arguments]
    run = subprocess.run(command, cwd=folder, env=os.environ | settings, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    return run.stdout.decode("cp1252")


def test_a_table_is_read_as_on_windows(tmp_path):
    (tmp_path / "a folder").mkdir()
    printed = as_elsewhere(tmp_path / "a folder", "check", "table.csv", "--kind", "labels")
    assert "'é' 5" in printed and r"'\u65e5' 4" in printed


@pytest.mark.slow
def test_a_table_is_fitted_as_on_windows(tmp_path):
    options = ("--kind", "labels", "--model", "dawid_skene", "--draws", "250", "--chains", "2")
    as_elsewhere(tmp_path, "fit", "table.csv", *options, "-o", "posterior.nc")
    as_elsewhere(tmp_path, "results", "posterior.nc", "-o", "results.csv")
    header, *rows = (tmp_path / "results.csv").read_text(encoding="utf-8").splitlines()
    assert {"p_é", "p_日"} <= set(header.split(",")) and {row.split(",")[0] for row in rows} == {
        "Zoë",
        "x 2",
        "x3",
    }
