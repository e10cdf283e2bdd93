"""Private parts of the command line for tests, imported here alone."""

from raterzoo.cli import tables
from raterzoo.cli.commands import app
from raterzoo.cli.fitting import build
from raterzoo.cli.options import settings_of
from raterzoo.cli.tables import (
    read_annotations,
    read_groups,
    read_order_scores,
    read_orders,
    read_predictions,
    read_sides,
)
from raterzoo.reports.settings import Settings

__all__ = [
    "app",
    "build",
    "read_annotations",
    "read_container",
    "read_groups",
    "read_order_scores",
    "read_orders",
    "read_predictions",
    "read_sides",
    "settings_of",
    "table_settings",
]


def table_settings(kind, **options):
    """Return the settings by which a table is read."""
    return Settings(kind, "", (1.0,), 0, 0, 0, **options)


def read_container(path, kind, columns, **options):
    """Read a table as it is, with the reading options of `Settings`."""
    return tables.read_container(path, table_settings(kind, **options), columns)[0]
