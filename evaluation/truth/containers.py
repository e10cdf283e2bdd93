"""Protocols of annotations, as far as evaluation reads them."""

from typing import Protocol, runtime_checkable

import numpy as np


class Annotations(Protocol):
    """Protocol of annotations of items over categories, as flat arrays."""

    @property
    def items(self) -> np.ndarray:
        """Ids (item,)."""
        ...

    @property
    def categories(self) -> np.ndarray:
        """Names (category,)."""
        ...

    @property
    def annotation_item(self) -> np.ndarray:
        """Item of each annotation."""
        ...


@runtime_checkable
class Rankings(Annotations, Protocol):
    """Protocol of partial rankings; `raterzoo.models.PartialRankings` satisfies it."""

    @property
    def annotation_start(self) -> np.ndarray:
        """First block of each annotation, and the end."""
        ...

    @property
    def block_start(self) -> np.ndarray:
        """First entry of each block, and the end."""
        ...

    @property
    def category_code(self) -> np.ndarray:
        """Category of each entry."""
        ...


@runtime_checkable
class Labels(Annotations, Protocol):
    """Protocol of labels sorted by item and rater; `raterzoo.models.Labels` satisfies it."""

    @property
    def annotation_rater(self) -> np.ndarray:
        """Rater of each annotation."""
        ...

    @property
    def label_code(self) -> np.ndarray:
        """Category of each annotation."""
        ...

    @property
    def count(self) -> np.ndarray:
        """Times that an annotation was given."""
        ...
