"""Running the command line in tests, and the tables that go in and come out."""

import csv
import subprocess
import sys

from typer.testing import CliRunner

from tests.support.cli_parts import app

__all__ = ["read", "run", "said", "stderr_without_importing", "write"]

RUNNER = CliRunner()


def write(path, table):
    """Write columns as a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(list(column) for column in table.values()), strict=True))
    return path


def read(path):
    """Read a CSV file as rows."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(*arguments):
    """Run a command."""
    return RUNNER.invoke(app, [str(a) for a in arguments])


def stderr_without_importing(slow, arguments, folder):
    """Run a command that ends early in a process of its own, which must import none of the slow packages; return its errors."""
    code = (
        "import sys, raterzoo.cli\n"
        f"sys.argv = ['raterzoo', *{[str(own) for own in arguments]!r}]\n"
        "try: raterzoo.cli.main()\n"
        f"except SystemExit: print('slow', *{set(slow)!r} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stdout.strip() == "slow", done.stdout
    return done.stderr


def said(result):
    """Return what was printed, on one line."""
    return " ".join(result.output.split())
