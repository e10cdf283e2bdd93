"""Running the command line in tests, and the tables that go in and come out."""

import csv

from raterzoo.cli.commands import app
from typer.testing import CliRunner

__all__ = ["read", "run", "said", "write"]

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


def said(result):
    """Return what was printed, on one line."""
    return " ".join(result.output.split())
