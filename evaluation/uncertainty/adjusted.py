"""Scorer of one metric, one posterior and one table of predictions, block by block."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
import xarray as xr

from ..._messages import step
from ...posterior import drawn_truth
from ...posterior.drawn_truth import DrawnBlock
from ...posterior.errors import EvaluationError
from ...posterior.plausibility import (
    BLOCK_SIZE,
    MOST_THREADS,
    Block,
    Plausibility,
    fixed_seed,
    in_threads,
    kept_in_words,
)
from ...posterior.schema import OTHER
from ...posterior.top_labels import OtherAs, TopLabels, treatment_of_other
from ..argument_checks import check_arguments
from ..metrics.callables import ByDraw, FailedDrawError, PerDraw, metric_from_callable
from ..metrics.metric import Metric, OneHotScore, Response, Truth
from .alignment import NO_PREDICTION, Aligned, align, align_ranks, align_scores
from .questions import question_of

FEW_DRAWS = 50  # draws per block of a callable: the step of the progress bar
MOST_KEPT = 50_000_000  # drawn labels kept in memory; more are drawn a second time
NONE = -1


@dataclass(frozen=True)
class Scorer:
    """Metric, predictions and posterior, aligned and ready to score blocks of draws."""

    metric: Metric  # for the requested kind of truth
    aligned: Aligned  # predictions in the category codes of the posterior
    labels: TopLabels  # most plausible labels of the draws
    renumbered: np.ndarray | None = None  # (code,) new codes, -1 for none; None until `closed`
    drawn: list[DrawnBlock] | None = None  # labels of all draws, if kept in memory

    @classmethod
    def of(
        cls,
        metric: Metric | ByDraw,
        tree: xr.DataTree | xr.DataArray,
        predictions: xr.DataArray,
        arguments: Mapping[str, object],
        *,
        truth: Truth | None = None,
        response: Response | None = None,
        top: int = 1,
        other: OtherAs | None = None,
    ) -> "Scorer":
        """Align predictions with a posterior as the metric needs them."""
        view = Plausibility.of(tree)
        other = treatment_of_other(view, other)
        if isinstance(metric, Metric) and top != 1:
            raise EvaluationError(f"top={top}: {metric.name} has its own number of labels, {metric.top}")
        if not isinstance(metric, Metric):
            metric = metric_from_callable(metric, arguments, truth, response, top)
        elif arguments or response:
            raise EvaluationError(
                f"{next(iter(arguments), 'response')}=: only callables take this argument, not a Metric"
            )
        elif truth is not None:
            metric = metric.against(truth)
        elif metric.truth == "plausibility" and view.is_of_category and metric.response != "scores":
            metric = metric.against("label")
        if metric.truth == "plausibility" and other == "label":
            raise EvaluationError(
                f'other="label": {metric.name} compares categories, and {OTHER} is not one; use other="exclude"'
            )
        if metric.response == "ranks":
            aligned = align_ranks(metric, view, predictions, other)
        elif metric.response != "labels":
            aligned = align_scores(metric, view, predictions, other)
        else:
            aligned = align(view, predictions, metric.top, other, ordered=metric.truth == "ranking")
        return cls(metric, aligned, TopLabels(aligned.view, other))

    @property
    def width(self) -> int:
        """Values per item and draw that a score allocates; 0 if the item's cells suffice."""
        metric = self.metric
        if metric.truth in ("set", "ranking"):
            return metric.top
        if self._of_predicted:
            return len(self.aligned.predicted)
        dense = metric.response != "labels" and metric.over == "item"
        dense = dense or metric.truth == "plausibility" or isinstance(metric.score, OneHotScore)
        return self.aligned.predicted.shape[-1] if dense and not metric.grader else 0

    @property
    def called(self) -> PerDraw | None:
        """Callable of the user, or None for a metric of this package."""
        return self.metric.score if isinstance(self.metric.score, PerDraw) else None

    @property
    def _of_predicted(self) -> Callable[..., np.ndarray] | None:
        """Shortcut that scores the plausibilities of the predicted labels alone, if the metric has one."""
        found = getattr(self.metric.score, "of_predicted", None)
        return found if self.metric.truth == "plausibility" else None

    @cached_property
    def _is_full(self) -> bool:
        """Whether every item names every category in their order, so that the cells are dense already."""
        view, n = self.aligned.view, self.aligned.predicted.shape[-1]
        return np.array_equal(view.code, np.tile(np.arange(n), len(view.items)))

    def truth(self, block: Block, rng: np.random.Generator) -> Any:
        """Return the truth (sample, item[, ...]) of a block; the block itself for graders."""
        metric, labels = self.metric, self.labels
        if isinstance(block, DrawnBlock):
            return block.truth
        if metric.truth == "plausibility":
            if self._of_predicted:
                return drawn_truth.predicted_plausibility(
                    labels, block, self.aligned.predicted.argmax(axis=-1)
                )
            if self._is_full and metric.response != "ranks":
                shape = (block.items.stop - block.items.start, -1, block.draws.shape[1])
                return block.draws.reshape(shape).transpose(2, 0, 1)
            if metric.grader:
                return block
            return drawn_truth.dense_plausibility(labels, block).transpose(2, 0, 1)
        if metric.truth == "sampled":
            return drawn_truth.sampled_label(labels, block, rng).T
        if metric.truth == "label":
            return labels.draw(block, 1, rng)[0].T
        return labels.draw(block, metric.top, rng).transpose(2, 1, 0)

    def by_item(self, truth: Any, items: slice) -> list[np.ndarray]:
        """Return the scores (item, sample) of some items, one array for each classifier."""
        metric, predicted = self.metric, self.aligned.predicted
        if isinstance(truth, Block) or metric.response == "ranks":
            n, grader = predicted.shape[-1], metric.grader
            assert grader is not None
            if isinstance(truth, Block):
                graded = drawn_truth.graded_plausibility(self.labels, truth, n)
            else:
                graded = drawn_truth.graded_labels(truth, n)
            scores = [grader(one, predicted[:, items][:, i]) for i, one in enumerate(graded)]
            return list(np.stack(scores, axis=1))
        found = [np.asarray(metric.score(truth, one[items])).T for one in predicted]
        if found[0].T.shape != truth.shape[:2]:
            raise EvaluationError(
                f"{metric.name}: score returned shape {found[0].T.shape}, expected (..., item) = {truth.shape[:2]}"
            )
        return found

    def over_items(
        self,
        truth: np.ndarray,
        weights: np.ndarray | None,
        samples: np.ndarray,
        items: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return scores (classifier, sample) of metrics of all items together, or of the numbers in `items`.

        Shapes: weights (sample, item); samples: draw numbers.
        """
        assert self.renumbered is not None
        new, n_labels = self.renumbered, int(self.renumbered.max()) + 1
        in_order = np.array_equal(new[:n_labels], np.arange(n_labels))
        if self.metric.truth != "plausibility" and not in_order:
            truth = new[truth]
        predicted = self.aligned.predicted if items is None else self.aligned.predicted[:, items]
        if self.metric.response == "labels":
            predicted = new[predicted]
        found = np.empty((len(predicted), len(truth)))
        score, of_predicted = self.metric.score, self._of_predicted
        for c, one in enumerate(predicted):
            try:
                if of_predicted:
                    found[c] = of_predicted(truth[..., c], one, weights)
                else:
                    found[c] = score(truth, one, weights, n_labels)
            except FailedDrawError as failed:
                i, error = failed.args
                array, dims = self.aligned.view.array, self.aligned.view.sample_dims
                place = np.unravel_index(int(samples[i]), [array.sizes[d] for d in dims]) if dims else ()
                names = [
                    array[d].to_numpy()[k] if d in array.coords else k
                    for d, k in zip(dims, place, strict=True)
                ]
                where = ", ".join(f"{d} {name}" for d, name in zip(dims, names, strict=True))
                at = f" at {where}" if where else ""
                raise EvaluationError(f"{self.metric.name} failed{at}: {error}") from error
        return found

    def map_draws[Result](
        self, function: Callable[[Block, slice, np.random.Generator], Result], seed: int, progressbar: bool
    ) -> list[Result]:
        """Apply a function to blocks of draws, with a progress bar; callables on one thread."""
        with step(self.metric.name, self.aligned.view.n_samples, shown=progressbar) as bar:

            def counted(block: Block, samples: slice, rng: np.random.Generator) -> Result:
                result = function(block, samples, rng)
                bar.advance(samples.stop - samples.start)
                return result

            return list(self._map_blocks(counted, seed, 1 if self.called is not None else MOST_THREADS))

    def _map_blocks[Result](
        self, function: Callable[[Block, slice, np.random.Generator], Result], seed: int, most_threads: int
    ) -> Iterator[Result]:
        """Apply a function to stored or new blocks; the blocks do not depend on the number of threads."""
        view = self.aligned.view
        if self.drawn is not None:
            # each block has the state of its generator, so that scores do not depend on the order
            def apply(block: DrawnBlock) -> Result:
                return function(block, block.samples, deepcopy(block.rng))

            return in_threads(apply, self.drawn, most=most_threads)
        width = BLOCK_SIZE // FEW_DRAWS if self.called else len(view.items) * self.width
        return view.map_draws(function, seed, width, most_threads=most_threads)

    def closed(self, seed: int) -> "Scorer":
        """Return the scorer with codes, in the order of the names, of labels that occur only; raise if an item has no label."""
        view, predicted = self.aligned.view, self.aligned.predicted
        n_names = len(view.categories)
        unnamed = self.labels.n_codes + 1 - n_names
        text = np.array([*view.categories.tolist(), *[OTHER] * unnamed])
        of_all, drawn = self.metric.truth == "plausibility", None
        if self.metric.response != "labels" or of_all:
            used = np.arange(n_names)
        else:
            # same blocks as for the scores: labels that are not kept are drawn identically again
            found = list(self._map_blocks(self._occurring, seed, MOST_THREADS))
            used = np.unique([*chain(*(codes for codes, _ in found)), *np.unique(predicted).tolist()])
            used = used[used >= 0]
            drawn = [block for _, block in found if block is not None] or None
        if self.metric.response == "labels":
            self._check_labels(predicted)
        names = text[used]
        if view.integer_labels and OTHER not in names:
            names = names.astype(np.int64)
        # plausibilities stay in the order of the posterior
        ordered, place = (names, used) if of_all else np.unique(names, return_inverse=True)
        renumbered = np.full(len(text) + 2, NONE)  # codes -1 and -2 (no label) index the last two
        renumbered[used] = place
        metric = self.metric
        if isinstance(metric.score, PerDraw):
            metric = replace(metric, score=metric.score.named(ordered))
        aligned = self.aligned
        if metric.response != "labels" and metric.truth != "plausibility":
            aligned = replace(aligned, predicted=predicted[..., np.argsort(place)])
        return replace(self, metric=metric, aligned=aligned, renumbered=renumbered, drawn=drawn)

    def _occurring(
        self, block: Block, samples: slice, rng: np.random.Generator
    ) -> tuple[list[int], DrawnBlock | None]:
        """Return the codes that occur in the truth of a block, and its labels if few enough to keep."""
        codes, view = self.truth(block, rng), self.aligned.view
        first = codes if codes.ndim == 2 else codes[..., 0]
        self._check_labels(first[..., None], "plausible")
        used = _distinct(codes, self.labels.n_codes + 1)
        if view.n_samples * len(view.items) * self.metric.top > MOST_KEPT:
            return used, None
        nothing = np.empty((0, 0), block.rows.dtype)
        return used, DrawnBlock(block.items, block.cells, nothing, codes, samples, rng)

    def _check_labels(self, codes: np.ndarray, what: str = "predicted") -> None:
        empty = (codes[..., 0] < 0).any(axis=0)
        if empty.any():
            item = self.aligned.view.items[np.argmax(empty)]
            raise EvaluationError(
                f"item {item!s} has no {what} label; {self.metric.name} needs one of every item"
            )


def _distinct(codes: np.ndarray, n_codes: int) -> list[int]:
    """Return the codes that occur, which are below n_codes; negative ones are no labels."""
    found = np.zeros(n_codes - NO_PREDICTION, bool)
    for some in np.array_split(codes, 8):
        if found[:n_codes].all():
            break
        found[some.ravel(order="K")] = True  # negative codes are the last ones
    return np.flatnonzero(found[:n_codes]).tolist()


def uncertainty_adjusted(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    *,
    reduce: Literal["item"] | None = "item",
    truth: Truth | None = None,
    response: Response | None = None,
    top: int = 1,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
    progressbar: bool = True,
    **arguments: Any,
) -> xr.DataArray:
    """Score predictions against every posterior draw of the truth: agreement with what the raters leave open.

    It is accuracy against the truth only if the posterior has seen the predictions, as a rater of its model
    (`models.Labels.with_predictions`); else a good classifier is understated, as raters err. The attribute ``question`` says
    which of the two it is.

    Parameters
    ----------
    metric : Metric or callable
        Metric of this package, or ``f(y_true, y_pred, **arguments)`` over all items, called once for each
        draw. If the callable takes ``labels``, they are fixed: to all labels that occur, or for scores to all
        categories, in whose order the columns of the scores are.
    tree : DataTree or DataArray
        Posterior with ``plausibility``, or a point estimate of it. Draws in an array have the
        attribute ``truth``, "category" or "distribution".
    predictions : DataArray
        Labels (item, position), best first and "" after the last, or scores or booleans (item, category);
        optionally with a dim ``classifier``. A category that no rater ranked is a member of OTHER.
    reduce : "item" or None
        Average over items, or keep them.
    truth : {"label", "set", "ranking", "plausibility", "sampled"}, optional
        Reference of the comparison: the top-1 label of a draw, its set of the top-j labels, these labels best
        first, the plausibilities, or a label drawn from them. Default: that of the metric; "label" for a
        callable, and for a metric of probabilities if the truth is one category.
    response : {"labels", "scores", "probabilities"}, optional
        Form in which a callable receives the predictions; default as scikit-learn's functions need it, or
        labels.
    top : int
        Number of labels in the sets and rankings that a callable receives; shorter ones are padded with "".
    other : {"split", "exclude", "label"}, optional
        Treatment of OTHER, the pool of all categories that no rater of the item ranked: divide its
        plausibility among them at random, leave it out, or take it as one label; default as stored in the tree.
    random_seed : int or numpy.random.Generator, optional
        Seed of the members of OTHER, if it is split, and of sampled labels; by default derived from the tree,
        as in `annotation_certainty`. With one seed all classifiers meet the same truth, but metrics of
        different kinds may meet different draws of it.
    progressbar : bool
        Whether to show the progress.
    **arguments
        Keyword arguments of the callable.

    Returns
    -------
    DataArray, shape (chain, draw[, classifier][, item])
        Metric of every draw, under its name. The mean over draws is the uncertainty-adjusted metric (Stutz et
        al., 2025, arXiv:2307.02191, section 2.5, equations 12-20). Attributes: ``question``, which the metric answers,
        ``larger_is_better`` and, of a posterior that keeps every so many draws, ``kept_draws``.

    Raises
    ------
    EvaluationError
        If predictions and posterior do not match, or the callable does not return a number.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> simulated = models.simulators.ambiguous_items(items=5, raters=4, random_seed=1)
    >>> model = models.dirichlet(simulated.data)
    >>> tree = inference.sample(model, draws=200, chains=2, random_seed=1, progressbar=False)
    >>> predictions = inference.majority_vote(simulated.data)["plausibility"]
    >>> accuracy = evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(1), tree, predictions)
    >>> accuracy.name, dict(accuracy.sizes)
    ('top_1_accuracy', {'chain': 2, 'draw': 200})
    """
    if reduce not in ("item", None):
        raise EvaluationError(f'reduce={reduce!r}: expected "item" or None')
    check_arguments(uncertainty_adjusted, arguments, metric)
    scorer = Scorer.of(
        metric, tree, predictions, arguments, truth=truth, response=response, top=top, other=other
    )
    if scorer.metric.over == "items":
        if reduce is None:
            raise EvaluationError(
                f"reduce=None: {scorer.metric.name} scores all items at once; pass a metric of single items"
            )
        values = _over_items(scorer, random_seed, progressbar)
    else:
        values = _by_item(scorer, reduce, random_seed)
    asked = {"question": question_of(tree, predictions)}
    return _named(values, scorer, reduce).assign_attrs(asked | kept_in_words(tree))


def _by_item(scorer: Scorer, reduce: str | None, random_seed: int | np.random.Generator | None) -> np.ndarray:
    """Return scores (classifier, sample) or (classifier, item, sample), block by block of items."""
    view = scorer.aligned.view

    def scores(block: Block, rng: np.random.Generator) -> np.ndarray:
        found = scorer.by_item(scorer.truth(block, rng), block.items)
        if reduce:
            return np.stack([one.sum(axis=0, dtype=float) for one in found])
        return np.stack(found).astype(np.result_type(found[0], np.float32))

    if reduce and scorer.labels.from_rows and scorer.metric.truth in ("label", "set", "ranking"):
        width = len(view.items) * scorer.width
        # nothing is drawn at random, and whole draws are read in the order in which they are stored
        blocks = list(view.map_draws(lambda block, _, rng: scores(block, rng), random_seed, width))
        return np.concatenate(blocks, axis=1) / len(view.items)
    blocks = view.map_blocks(scores, random_seed, scorer.width)
    return np.sum(blocks, axis=0) / len(view.items) if reduce else np.concatenate(blocks, axis=1)


def _over_items(
    scorer: Scorer, random_seed: int | np.random.Generator | None, progressbar: bool
) -> np.ndarray:
    """Return scores (classifier, sample) of metrics over all items, block by block of draws."""
    seed = fixed_seed(random_seed, scorer.aligned.view.seed)
    scorer = scorer.closed(seed)

    def scores(block: Block, samples: slice, rng: np.random.Generator) -> np.ndarray:
        numbers = np.arange(samples.start, samples.stop)
        return scorer.over_items(scorer.truth(block, rng), None, numbers)

    return np.concatenate(scorer.map_draws(scores, seed, progressbar), axis=1)


def _named(values: np.ndarray, scorer: Scorer, reduce: str | None) -> xr.DataArray:
    """Return values (classifier[, item], sample) as a DataArray with the dims of the posterior."""
    view, classifier, metric = scorer.aligned.view, scorer.aligned.classifier, scorer.metric
    items = {} if reduce else {"item": xr.DataArray(view.items, dims="item")}
    dims, coords = (*view.sample_dims, "classifier", *items), {**view.sample_coords(), **items}
    attrs = {"larger_is_better": int(metric.larger_is_better)}
    result = xr.DataArray(view.unstack(values), coords, dims, metric.name, attrs)
    if classifier is None:
        return result.isel(classifier=0)
    return result.assign_coords(classifier=classifier.to_numpy())
