"""How many of the answers that each rater gave are right, by draws of the truth."""

from threading import Lock

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Block, Plausibility, kept_in_words
from ...posterior.schema import answers_of
from ...posterior.top_labels import TopLabels


def answers_right(tree: xr.DataTree, *, random_seed: int | np.random.Generator | None = None) -> xr.Dataset:
    """Return the share of the answers of each rater that are right, in every draw of the truth.

        right_k = sum_i [y_ik = T_i] / n_k

    over the n_k answers y_ik of rater k, where T_i is the true category of item i, drawn from its plausibility in each draw. It
    is of the items that the rater answered, and allows for what the plausibilities allow for, such as the errors that raters
    share in `correlated_votes`. The accuracy of `rater_quality` is that of one more answer, by the confusion matrix: where the
    rater answered few items of a category, it is near that of the prior.

    Parameters
    ----------
    tree : DataTree
        Posterior of a model of labels whose items have one true category, with the answers of named raters, as it was sampled:
        items and raters are selected from the result, since answers know them by their places.
    random_seed : int or numpy.random.Generator, optional
        Seed of the draws of the truth; by default derived from the tree, as in `annotation_certainty`.

    Returns
    -------
    Dataset
        ``right`` (chain, draw, rater), NaN for a rater without an answer, and ``answers`` (rater), their number. Repeated answers
        count each.

    Raises
    ------
    EvaluationError
        If the tree does not hold the answers of its raters, or lacks items or raters, or the truth is no single category.
        `DrawsNotKept` if it was sampled with ``keep="summary"``.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> simulated = models.simulators.labels(items=200, raters=3, answers=3, random_seed=1)
    >>> tree = inference.sample(models.dawid_skene(simulated.data), random_seed=1, progressbar=False)
    >>> found = evaluation.answers_right(tree)
    >>> found["right"].mean(("chain", "draw")).values.round(2), found["answers"].values
    (array([0.61, 0.43, 0.81]), array([200, 200, 200]))

    References
    ----------
    Gelman, Carlin, Stern, Dunson, Vehtari and Rubin (2013), Bayesian data analysis, third edition, section 8.3: inference for
    the units of a finite population, and for others like them.
    """
    view = Plausibility.of(tree)
    answers = answers_of(tree) if isinstance(tree, xr.DataTree) else None
    if answers is None or not view.is_of_category:
        raise EvaluationError(
            "answers_right needs a posterior of labels whose items have one true category, such as that of dawid_skene, with "
            "the item and the named rater of every answer"
        )
    if answers.item.max(initial=-1) >= len(view.items) or answers.rater.max(initial=-1) >= len(
        answers.raters
    ):
        raise EvaluationError(
            "answers_right: the tree has answers to items or by raters that its posterior lacks; take the tree as it was "
            "sampled, and select from the result"
        )
    labels, order = TopLabels(view, "exclude"), np.argsort(answers.item, kind="stable")
    item, rater, label = (codes[order] for codes in (answers.item, answers.rater, answers.label))
    first = np.searchsorted(item, np.arange(len(view.items) + 1))
    right = np.zeros((len(answers.raters), view.n_samples), np.int32)
    adding = Lock()

    def count(block: Block, rng: np.random.Generator) -> None:
        truth = labels.draw(block, 1, rng)[0]
        own = slice(first[block.items.start], first[block.items.stop])
        hits = truth[item[own] - block.items.start] == label[own, None]
        raters, code = np.unique(rater[own], return_inverse=True)
        of_rater = csr_array(
            (np.ones(len(code), np.int32), (code, np.arange(len(code)))), (len(raters), len(code))
        )
        found = of_rater @ hits
        with adding:
            right[raters] += found

    view.map_blocks(count, random_seed)
    number = np.bincount(rater, minlength=len(answers.raters))
    with np.errstate(invalid="ignore"):
        share = right / number[:, None]
    return xr.Dataset(
        {"right": ((*view.sample_dims, "rater"), view.unstack(share)), "answers": ("rater", number)},
        view.sample_coords() | {"rater": tree["posterior"]["rater"]},
        kept_in_words(tree),
    )
