"""Private parts of reports for tests, imported here alone."""

from raterzoo.reports.page import SCHEMA, page_text

__all__ = ["SCHEMA", "page_text"]
