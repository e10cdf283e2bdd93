"""How a bug is seeded: a line of a kernel is changed, and what calls it is made anew around it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.source_twins import altered

__all__ = ["Link", "in_place_of", "rebuilt"]

Link = tuple[Any, ...]
"""A module, and the pairs of texts that are replaced in its source."""

KEPT = ("from ...models.distributions.compiling import kept", "import numba as nb")
CALLERS = (  # modules that hold what the evidence calls
    "inference.comparison_chains",
    "inference.count_routes",
    "inference.label_chains",
    "inference.ranking_routes",
    "inference.score_chains",
    "inference.score_routes",
    "inference.state_chains",
    "inference.worth_chains",
    "inference.kernels.item_states",
    "inference.kernels.label_chain",
    "inference.kernels.laplace_hmc",
    "inference.kernels.score_chain",
    "inference.kernels.worth",
)


def rebuilt(*links: Link) -> dict[str, Callable[..., Any]]:
    """Compile modules anew, each with the functions of those before it.

    Parameters
    ----------
    *links : tuple
        Modules below `raterzoo`, from the one that is wrong to the one that is called, each with the changes of its source.

    Returns
    -------
    dict of str to callable
        The functions of the last module, by name.
    """
    changed: dict[str, Any] = {}
    for name, *changes in links:
        origin = find_spec(f"raterzoo.{name}").origin  # pyright: ignore[reportOptionalMemberAccess]
        source = Path(str(origin)).read_text()
        needs_numba = "@kept(" in source and "import numba as nb" not in source
        known = {own: x for own, x in changed.items() if own in source}
        module = altered(name, *([KEPT] if needs_numba else []), *changes, **known)
        before = vars(import_module(f"raterzoo.{name}"))
        changed = {own: x for own, x in vars(module).items() if _is_new(x, before.get(own))}
    return changed


def _is_new(value: Any, before: Any) -> bool:
    """Tell whether a value is a function that is not the one it was."""
    return before is not None and value is not before and callable(before) and not isinstance(before, type)  # fmt: skip


@contextmanager
def in_place_of(functions: dict[str, Callable[..., Any]]) -> Iterator[None]:
    """Let the functions stand, for a while, wherever one of their names is called from.

    Parameters
    ----------
    functions : dict of str to callable
        By name.
    """
    before = []
    for name in CALLERS:
        module = import_module(f"raterzoo.{name}")
        for own, function in functions.items():
            if own in vars(module) and not own.startswith("__"):
                before.append((module, own, vars(module)[own]))
                setattr(module, own, function)
    if not before:
        raise LookupError(f"nothing calls any of {', '.join(sorted(functions))}")
    try:
        yield
    finally:
        for module, own, function in before:
            setattr(module, own, function)
