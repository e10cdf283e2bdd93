"""Private parts of data and models for tests, imported here alone."""

from raterzoo.models._catalog import annotation_kinds
from raterzoo.models.data.exports.tools import TOOLS
from raterzoo.models.data.features import item_features
from raterzoo.models.labels.glad import easiness_nodes

__all__ = ["TOOLS", "annotation_kinds", "easiness_nodes", "item_features"]
