"""Reports: layout of the results of `raterzoo.evaluation` and their plots as HTML, CSV and JSON."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:
    from .page import Section as Section
    from .page import write_report as write_report

__all__ = ["Section", "write_report"]

__getattr__, __dir__ = lazy_exports(__name__, {"Section": ".page", "write_report": ".page"})
