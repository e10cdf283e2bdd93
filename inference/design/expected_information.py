"""Expected information of the next answer, for comparisons, labels and rankings."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr

from ..._messages import first_reprs, short_repr
from ...models.distributions.paired_comparisons_kernels import DAVIDSON, law_code
from ...posterior.links import Link
from ...posterior.plausibility import refuse_without_draws
from ..comparisons.kernels.information import answer_information
from ..runs.new_items import with_new_items
from .label_information import AboutLabels, most_informative_first, next_label_to_ask, positions_of

AboutPairs = Literal["quality", "ranks"]


def next_to_ask(
    tree: xr.DataTree,
    candidates: Sequence[tuple[Any, Any]] | np.ndarray | None = None,
    raters: Sequence[Any] | np.ndarray | None = None,
    *,
    items: Sequence[Any] | np.ndarray | None = None,
    about: AboutPairs | AboutLabels | None = None,
    link: Link | None = None,
    price: Mapping[Any, float] | None = None,
    features: Any = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Rank questions, each to one rater about one pair or item, by the expected information in the answer.

    The information about the parameters is the entropy of the answer that is due to uncertain parameters,

        gain = H[E p] - E H[p]

    with p the probabilities of the outcomes given a draw, E the mean over the posterior, H the entropy in
    nats. Notes has the other cases.

    Parameters
    ----------
    tree : DataTree
        Posterior of comparisons with ``quality`` (chain, draw, item) and, unless all raters are alike,
        ``reliability`` (chain, draw, rater); ``tie``, ``left_bias``, of all raters or by rater, and ``taste``,
        which the raters of a group share, are used if present; covariates of votes (``vote_effect``) are zero in a question.
        Or a posterior of
        labels or rankings with ``plausibility``, and ``confusion`` where the truth is one category.
    candidates : sequence of pairs of item ids, optional
        For comparisons: pairs to ask about, the left item first; by default all.
    raters : sequence of rater ids, optional
        Raters to ask; by default all. For labels also ``"anyone"``: a random rater who is not identified.
    items : sequence of item ids, optional
        For labels and rankings: items to annotate once more; by default all.
    about : {"quality", "ranks", "truth", "plausibility"}, optional
        Target of the information. For comparisons: the parameters, which are the qualities of all items, the
        reliability and taste of the rater, and ties ("quality", the default); or which item of the pair is better
        ("ranks"), which favours close pairs and good raters. For labels and rankings: the true category, or
        the top-1 label where the plausibilities are the truth ("truth", the default); in the latter case also
        the plausibilities ("plausibility").
    link : {"bradley_terry", "thurstone"}, optional
        For comparisons; by default that of the tree.
    price : mapping of rater id to float, optional
        Price of an answer of each rater who is asked, from 0: then the most informative question for its price is first. Free
        answers come before all others.
    features : DataArray, frame or mapping of str to sequence, optional
        For labels of a model with features: features of further items, as for `raterzoo.inference.predict`, which nobody
        annotated. They are ranked among the items of the tree; rows of items of the tree are not read.
    random_seed : int or numpy.random.Generator, optional
        For rankings: seed of the shares of the members of OTHER.

    Returns
    -------
    Dataset
        ``gain`` (question) in nats, in descending order, with ``left`` and ``right``, or ``item``, and ``rater``. With prices,
        also ``price`` and ``gain_per_price``, in descending order of the latter.

    Raises
    ------
    ValueError
        If the tree lacks a variable, an id is not in it, or an argument belongs to another kind of model; or a
        rater has no price, or a negative one.

    Notes
    -----
    The answer about an item is one label; for rankings, the label ranked first. OTHER counts as one label, unless
    it stands for one category. Both make the gain a lower bound of that of a full annotation without ties.

    If the truth T of an item is one category, the gain is the mutual information of T and the answer. If the
    plausibilities are the truth and the model counts an answer r times (``reliability``), an answer l gives
    draw s the weight p_s(l)^r. The gain about the plausibilities is the expected Kullback-Leibler divergence
    of the new posterior from the old one. The gain about the top-1 label is the expected drop of its entropy,
    which can be negative unless r = 1.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import inference
    >>> draws = [[[1.0, 0.0, -3.0], [0.0, 1.0, -3.0]]]  # milk or tea is best; cocoa is worst
    >>> quality = xr.DataArray(draws, {"item": ["milk", "tea", "cocoa"]}, ("chain", "draw", "item"))
    >>> tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"quality": quality})})
    >>> first = inference.design.next_to_ask(tree, link="bradley_terry").isel(question=0)
    >>> first["left"].item(), first["right"].item(), round(first["gain"].item(), 2)
    ('milk', 'tea', 0.11)

    References
    ----------
    Lindley (1956), On a measure of the information provided by an experiment, Annals of Mathematical
    Statistics 27, doi:10.1214/aoms/1177728069. Houlsby et al. (2011), Bayesian active learning for
    classification and preference learning, arXiv:1112.5745.
    """
    for variable in ("quality", "plausibility"):
        refuse_without_draws(tree, variable)
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
    foreign = {"items": items, "features": features} if of_pairs else {"candidates": candidates, "link": link}
    for name, value in foreign.items():
        if value is not None:
            kind = "comparisons" if of_pairs else "labels or rankings"
            remedy = "pass candidates=" if of_pairs else "pass items= and raters="
            raise ValueError(f"{name}= does not fit a posterior of {kind}; {remedy}")
    if features is not None:
        tree = with_new_items(tree, features)
    if of_pairs:
        found = _next_pair(tree, candidates, raters, asked, link)
    else:
        found = next_label_to_ask(tree, items, raters, asked, random_seed)
    return found if price is None else _cheapest_first(found, price)


def _cheapest_first(questions: xr.Dataset, price: Mapping[Any, float]) -> xr.Dataset:
    """Sort questions by their gain for the price of the rater."""
    if not isinstance(price, Mapping):
        raise ValueError(
            f"price={short_repr(price)}: expected the price of each rater who would be asked, such as {{'Ann': 1.5}}; leave it "
            "out if all cost the same"
        )
    raters = questions["rater"].to_numpy().tolist()
    if unknown := [name for name in dict.fromkeys(raters) if name not in price]:
        raise ValueError(
            f"price= lacks {first_reprs(unknown)}, who would be asked; give their price, or leave them out by raters="
        )
    for name, own in price.items():
        if isinstance(own, bool) or not isinstance(own, int | float | np.number) or not 0 <= own < np.inf:
            raise ValueError(f"price= of {name!r} is {own!r}; it must be a number from 0")
    each, gain = np.array([price[name] for name in raters], float), questions["gain"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(each > 0, gain / each, np.inf)
    order = np.lexsort((-gain, -ratio))
    priced = {
        "price": ("question", each),
        "gain_per_price": ("question", ratio, {"units": "nats per unit of price"}),
    }
    return questions.assign(priced).isel(question=order)


def _next_pair(tree: xr.DataTree, candidates: Any, raters: Any, about: str, link: Link | None) -> xr.Dataset:
    """Rank questions about pairs."""
    posterior = tree["posterior"].to_dataset()
    items, quality = _drawn(posterior, "quality", "item")
    left, right = _pairs(items, candidates)
    law = law_code(_link(tree, link), "tie" in posterior)
    if "reliability" in posterior:
        ids, reliability = _drawn(posterior, "reliability", "rater")
        chosen = np.arange(len(ids)) if raters is None else positions_of("raters", ids, np.asarray(raters))
        ids, reliability = ids[chosen], reliability[chosen]
    else:
        ids = np.array(["anyone"]) if raters is None else np.asarray(raters)
        reliability = np.ones((len(ids), quality.shape[1]))
    tie = _scalar(posterior, "tie", quality.shape[1])
    if (
        law == DAVIDSON and "cut_point" in posterior
    ):  # equal items tie as often: (e^t - 1) / (e^t + 1) = nu / (2 + nu)
        tie = np.expm1(tie)
    sides = _left_biases(posterior, ids, quality.shape[1])
    tastes = _tastes(tree, ids)
    if tastes is not None:
        sides = [(slice(k, k + 1), bias) for own, bias in sides for k in range(*own.indices(len(ids)))]
    column, gain = get_args(AboutPairs).index(about), np.empty((len(left), len(ids)))
    for e, (i, j) in enumerate(zip(left, right, strict=True)):
        for asked, bias in sides:
            if tastes is not None:
                taste = tastes[asked.start]
                bias = bias + reliability[asked.start] * (taste[i] - taste[j])
            gain[e, asked] = answer_information(law, quality[i] - quality[j], reliability[asked], tie, bias)[
                column
            ]
    return most_informative_first(gain, {"left": items[left], "right": items[right]}, ids, about)


def _drawn(posterior: xr.Dataset, name: str, dim: str) -> tuple[np.ndarray, np.ndarray]:
    """Ids along a dim, and the draws (dim, draw) of a variable."""
    draws = posterior[name].transpose(dim, "chain", "draw")
    return draws[dim].to_numpy(), np.ascontiguousarray(draws.to_numpy().reshape(draws.sizes[dim], -1), float)


def _scalar(posterior: xr.Dataset, name: str, n_draws: int) -> np.ndarray:
    """Draws (draw,) of a scalar variable; zeros if it is absent."""
    if name not in posterior:
        return np.zeros(n_draws)
    if posterior[name].ndim != 2:
        raise ValueError(f"{name} has the dims {posterior[name].dims}; expected chain and draw")
    return np.ascontiguousarray(posterior[name].transpose("chain", "draw").to_numpy().ravel(), float)


def _left_biases(posterior: xr.Dataset, raters: np.ndarray, n_draws: int) -> list[tuple[slice, np.ndarray]]:
    """Return raters (a slice of those who are asked) with the draws (draw,) of their advantage of the left side."""
    if "left_bias" not in posterior or "rater" not in posterior["left_bias"].dims:
        return [(slice(None), _scalar(posterior, "left_bias", n_draws))]
    known, bias = _drawn(posterior, "left_bias", "rater")
    if raters.tolist() == ["anyone"]:  # raters of one reliability: the mean side
        return [(slice(None), bias.mean(axis=0))]
    own = positions_of("raters", known, raters)
    return [(slice(k, k + 1), bias[place]) for k, place in enumerate(own)]


def _tastes(tree: xr.DataTree, raters: np.ndarray) -> list[np.ndarray] | None:
    """Return draws of the taste (item, draw) that each rater shares, zeros if independent; None if the model has no tastes."""
    posterior = tree["posterior"].to_dataset()
    if "taste" not in posterior:
        return None
    group = tree["constant_data"]["sharing_group"]
    draws = posterior["taste"].transpose("group_of_raters", "item", "chain", "draw").to_numpy()
    draws = np.ascontiguousarray(draws.reshape(*draws.shape[:2], -1), float)
    none = np.zeros(draws.shape[1:])
    if raters.tolist() == ["anyone"]:
        return [none]
    own = group.to_numpy()[positions_of("raters", group["rater"].to_numpy(), raters)]
    return [none if g < 0 else draws[g] for g in own.tolist()]


def _link(tree: xr.DataTree, link: str | None) -> str:
    """Return the requested link, or that of the tree."""
    if link is not None:
        return link
    for name in (tree.attrs.get("link"), tree.attrs.get("model")):
        if name in get_args(Link):
            return str(name)
    raise ValueError("the tree does not say which link it has; pass link='bradley_terry' or 'thurstone'")


def _pairs(items: np.ndarray, candidates: Any) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the left and right items of the pairs to ask about (pair,)."""
    if candidates is None:
        return np.triu_indices(len(items), 1)
    pairs = np.asarray(candidates)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"candidates has the shape {pairs.shape}; expected pairs of item ids, (pair, 2)")
    left, right = (positions_of("candidates", items, pairs[:, side]) for side in (0, 1))
    if len(same := left[left == right]):
        raise ValueError(f"candidates compares item {items[same[0]].item()!r} with itself; take two items")
    return left, right
