"""Catalog of the models, printed."""

from ..models import catalog
from .screen import show

__all__ = ["list_models"]


def list_models() -> None:
    """Print every model with its data, samplers and reference."""
    show(
        [
            {
                "model": e.name,
                "data": e.data,
                "drawn by": ", ".join(e.methods),
                "what it is": e.summary,
                "reference": e.reference,
            }
            for e in catalog.values()
        ]
    )
