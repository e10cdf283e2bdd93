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
from .next_label import AboutLabels, next_label_to_ask
from .questions import codes_of, most_informative_first

__all__ = ["next_to_ask"]

AboutPairs = Literal["quality", "ranks"]


def next_to_ask(
    tree: xr.DataTree,
    candidates: Sequence[tuple[Any, Any]] | np.ndarray | None = None,
    raters: Sequence[Any] | np.ndarray | None = None,
    *,
    items: Sequence[Any] | np.ndarray | None = None,
    about: AboutPairs | AboutLabels | None = None,
    link: Link | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Rank questions, each to one rater about one pair or one item, by the information expected in the answer.

    Parameters
    ----------
    tree : DataTree
        Posterior of comparisons with ``quality`` (chain, draw, item) and, unless all raters are alike, ``reliability`` (chain,
        draw, rater); ``tie`` and ``left_bias``, if it has them, enter the outcomes. Or one of labels or rankings with
        ``plausibility``, and ``confusion`` where the truth is one category.
    candidates : sequence of pairs of item ids, optional
        Of comparisons: pairs to ask about, the first on the left; by default all.
    raters : sequence of rater ids, optional
        Raters to ask; by default all. Of labels also ``"anyone"``: one of the raters at random, without learning which.
    items : sequence of item ids, optional
        Of labels and rankings: items to annotate once more; by default all.
    about : {"quality", "ranks", "truth", "plausibility"}, optional
        Of comparisons, information about the qualities of all items, with the reliability of the rater and the ties that the
        answer tells of too ("quality", the default); or about which of the two items is the better one alone, which settles on
        close pairs and good raters ("ranks"). Of labels and rankings, about the true category, or the top-1 label where the
        plausibilities are the truth ("truth", the default); or then about the plausibilities ("plausibility").
    link : {"bradley_terry", "thurstone"}, optional
        Of comparisons; by default what the tree says.
    random_seed : int or numpy.random.Generator, optional
        Of rankings: draws how large the members of OTHER are.

    Returns
    -------
    Dataset
        ``gain`` (question) in nats, largest first, with ``left`` and ``right``, or ``item``, and ``rater`` along ``question``.

    Raises
    ------
    ValueError
        If the tree lacks something, an id is not in it, or an argument is one of another kind of model.

    Notes
    -----
    The answer about an item is a label, of rankings the one ranked first, and OTHER is one label unless it stands for a single
    category: the gain is a lower bound of what an untied annotation tells. An answer counts as often as the model's reliability
    says; the gain about the top-1 label, the expected drop of its entropy, can then be negative. `label_information` states the
    formulas.
    """
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    of_pairs = "quality" in posterior
    if not of_pairs and "plausibility" not in posterior:
        raise ValueError(
            "the tree has no posterior of quality or plausibility; sample a model of comparisons, labels or rankings"
        )
    choices = get_args(AboutPairs if of_pairs else AboutLabels)
    asked = choices[0] if about is None else about
    if asked not in choices:
        raise ValueError(f"about={asked!r} is not one of {', '.join(map(repr, choices))}")
    foreign = {"items": items} if of_pairs else {"candidates": candidates, "link": link}
    for name, value in foreign.items():
        if value is not None:
            kind = "comparisons" if of_pairs else "labels or rankings"
            remedy = "pass candidates=" if of_pairs else "pass items= and raters="
            raise ValueError(f"{name}= does not fit a posterior of {kind}; {remedy}")
    if of_pairs:
        return _next_pair(tree, candidates, raters, asked, link)
    return next_label_to_ask(tree, items, raters, asked, random_seed)


def _next_pair(
    tree: xr.DataTree, candidates: Any, raters: Any, about: str, link: Link | None
) -> xr.Dataset:
    """Rank questions to raters about pairs."""
    posterior = tree["posterior"].to_dataset()
    items, quality = _drawn(posterior, "quality", "item")
    left, right = _pairs(items, candidates)
    law = law_code(_link(tree, link), "tie" in posterior)
    if "reliability" in posterior:
        ids, reliability = _drawn(posterior, "reliability", "rater")
        chosen = (
            np.arange(len(ids)) if raters is None else codes_of("raters", ids, np.asarray(raters))
        )
        ids, reliability = ids[chosen], reliability[chosen]
    else:
        ids = np.array(["anyone"]) if raters is None else np.asarray(raters)
        reliability = np.ones((len(ids), quality.shape[1]))
    tie, bias = (_scalar(posterior, name, quality.shape[1]) for name in ("tie", "left_bias"))
    column = get_args(AboutPairs).index(about)
    gain = np.empty((len(left), len(ids)))
    for e, (i, j) in enumerate(zip(left, right, strict=True)):
        gain[e] = answer_information(law, quality[i] - quality[j], reliability, tie, bias)[column]
    return most_informative_first(gain, {"left": items[left], "right": items[right]}, ids, about)


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
    left, right = (codes_of("candidates", items, pairs[:, side]) for side in (0, 1))
    if len(same := np.flatnonzero(left == right)):
        raise ValueError(
            f"candidates compares item {items[left[same[0]]].item()!r} with itself; take two items"
        )
    return left, right
