"""Which answer to ask for next: the one whose outcome is least certain for lack of knowledge, not for lack of difference.

    gain = H[E p] - E H[p],   p = probabilities of the outcomes given a draw, E over the posterior, H entropy in nats

References
----------
Lindley (1956), On a measure of the information provided by an experiment, Annals of Mathematical Statistics 27,
doi:10.1214/aoms/1177728069. Houlsby et al. (2011), Bayesian active learning for classification and preference learning,
arXiv:1112.5745.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr

from ...models.distributions.pair_links import law_code
from ..kernels.answer_information import answer_information
from ..point.averaged_link import Link

__all__ = ["next_to_ask"]

About = Literal["quality", "ranks"]


def next_to_ask(
    tree: xr.DataTree,
    candidates: Sequence[tuple[Any, Any]] | np.ndarray | None = None,
    raters: Sequence[Any] | np.ndarray | None = None,
    *,
    about: About = "quality",
    link: Link | None = None,
) -> xr.Dataset:
    """Rank questions, each to one rater about one pair, by the information expected in the answer.

    Parameters
    ----------
    tree : DataTree
        Posterior of comparisons with ``quality`` (chain, draw, item) and, unless all raters are alike, ``reliability`` (chain,
        draw, rater); ``tie`` and ``left_bias``, if it has them, enter the outcomes.
    candidates : sequence of pairs of item ids, optional
        Pairs to ask about, the first on the left; by default all.
    raters : sequence of rater ids, optional
        Raters to ask; by default all.
    about : {"quality", "ranks"}
        Information about the qualities of all items, with the reliability of the rater and the ties that the answer tells of too;
        or about which of the two items is the better one alone, which settles on close pairs and good raters.
    link : {"bradley_terry", "thurstone"}, optional
        By default what the tree says.

    Returns
    -------
    Dataset
        ``gain`` (question) in nats, largest first, with ``left``, ``right`` and ``rater`` along ``question``.

    Raises
    ------
    ValueError
        If the tree lacks something, or an id is not in it.
    """
    if about not in get_args(About):
        raise ValueError(f"about={about!r} is not one of {', '.join(map(repr, get_args(About)))}")
    if "posterior" not in tree.children or "quality" not in tree["posterior"].data_vars:
        raise ValueError("the tree has no posterior of quality; sample a model of comparisons")
    posterior = tree["posterior"].to_dataset()
    items, quality = _drawn(posterior, "quality", "item")
    left, right = _pairs(items, candidates)
    law = law_code(_link(tree, link), "tie" in posterior)
    if "reliability" in posterior:
        ids, reliability = _drawn(posterior, "reliability", "rater")
        chosen = (
            np.arange(len(ids)) if raters is None else _codes("raters", ids, np.asarray(raters))
        )
        ids, reliability = ids[chosen], reliability[chosen]
    else:
        ids = np.array(["anyone"]) if raters is None else np.asarray(raters)
        reliability = np.ones((len(ids), quality.shape[1]))
    tie, bias = (_scalar(posterior, name, quality.shape[1]) for name in ("tie", "left_bias"))
    column = get_args(About).index(about)
    gain = np.empty((len(left), len(ids)))
    for e, (i, j) in enumerate(zip(left, right, strict=True)):
        gain[e] = answer_information(law, quality[i] - quality[j], reliability, tie, bias)[column]
    order = np.argsort(-gain, axis=None, kind="stable")
    pair, rater = np.unravel_index(order, gain.shape)
    return xr.Dataset(
        {"gain": ("question", gain.ravel()[order], {"units": "nats", "about": about})},
        {
            "left": ("question", items[left[pair]]),
            "right": ("question", items[right[pair]]),
            "rater": ("question", ids[rater]),
        },
    )


def _drawn(posterior: xr.Dataset, name: str, dim: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids along a dim, and the draws (dim, draw) of a variable."""
    draws = posterior[name].transpose(dim, "chain", "draw")
    return draws[dim].to_numpy(), np.ascontiguousarray(
        draws.to_numpy().reshape(draws.sizes[dim], -1), float
    )


def _scalar(posterior: xr.Dataset, name: str, n_draws: int) -> np.ndarray:
    """Return the draws of a number, zero if there is none."""
    if name not in posterior:
        return np.zeros(n_draws)
    if posterior[name].ndim != 2:
        raise ValueError(f"{name} has the dims {posterior[name].dims}; expected chain and draw")
    return np.ascontiguousarray(
        posterior[name].transpose("chain", "draw").to_numpy().ravel(), float
    )


def _link(tree: xr.DataTree, link: str | None) -> str:
    """Return the link asked for, or that of the tree."""
    if link is not None:
        return link
    for said in (tree.attrs.get("link"), tree.attrs.get("model")):
        if said in get_args(Link):
            return str(said)
    raise ValueError(
        "the tree does not say which link it has; pass link='bradley_terry' or 'thurstone'"
    )


def _pairs(items: np.ndarray, candidates: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of the pairs to ask about."""
    if candidates is None:
        return np.triu_indices(len(items), 1)
    pairs = np.asarray(candidates)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"candidates has the shape {pairs.shape}; expected pairs of item ids, (pair, 2)"
        )
    left, right = (_codes("candidates", items, pairs[:, side]) for side in (0, 1))
    if len(same := np.flatnonzero(left == right)):
        raise ValueError(
            f"candidates compares item {items[left[same[0]]].item()!r} with itself; take two items"
        )
    return left, right


def _codes(argument: str, ids: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return where ids are."""
    place = {name: code for code, name in enumerate(ids.tolist())}
    for name in chosen.tolist():
        if name not in place:
            raise ValueError(
                f"{argument} names {name!r}, which the tree does not have; it has {ids[0].item()!r}, ..."
            )
    return np.array([place[name] for name in chosen.tolist()], int)
