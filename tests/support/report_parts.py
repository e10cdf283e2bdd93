"""Private parts of reports for tests, imported here alone."""

from raterzoo.reports.composition import headlines
from raterzoo.reports.page import SCHEMA, page_text

__all__ = ["SCHEMA", "headlines", "page_text"]
