"""Private parts of the command line for tests, imported here alone."""

from raterzoo.cli.commands import app
from raterzoo.cli.fitting import build
from raterzoo.cli.options import settings_of
from raterzoo.cli.tables import (
    read_annotations,
    read_container,
    read_groups,
    read_order_scores,
    read_orders,
    read_predictions,
    read_sides,
)

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
]
