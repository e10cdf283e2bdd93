"""Figures that notebooks display although they are not registered with pyplot."""

from io import BytesIO
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["Picture", "Plot"]

DPI = 110


class Picture(Figure):
    """Figure that displays itself as the last expression of a notebook cell."""

    def _repr_png_(self) -> bytes:
        page = BytesIO()
        self.savefig(page, format="png", dpi=DPI, bbox_inches="tight")
        return page.getvalue()

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        """Add axes that display the whole figure."""
        if "projection" not in kwargs and "polar" not in kwargs:
            kwargs.setdefault("axes_class", Plot)
        return super().add_subplot(*args, **kwargs)


class Plot(Axes):
    """Axes that display their figure."""

    def _repr_png_(self) -> bytes | None:
        figure = self.get_figure(root=True)
        return figure._repr_png_() if isinstance(figure, Picture) else None
