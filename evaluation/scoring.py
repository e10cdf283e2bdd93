"""One metric, one posterior, one table of predictions: the truth of some draws, and the scores against it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import xarray as xr
from rich.console import Console
from rich.progress import Progress

from .alignment import NO_PREDICTION, Aligned, align
from .alignment_ranks import align_ranks
from .alignment_scores import align_scores
from .callables import ByDraw, FailedDrawError, PerDraw, metric_of
from .drawn_truth import dense_plausibility, sampled_label
from .errors import EvaluationError
from .graded import graded_labels, graded_plausibility
from .metric import Certain, Metric, Response, Truth
from .plausibility import BLOCK_SIZE, OTHER, Block, Plausibility
from .top_labels import OtherAs, TopLabels, treatment_of_other

__all__ = ["Scorer", "fixed_seed"]

FEW_DRAWS = 50  # of a callable at once: so often the progress bar moves
NONE = -1


@dataclass(frozen=True)
class Scorer:
    """A metric that is ready to score blocks of draws.

    Attributes
    ----------
    metric : Metric
        Against the kind of truth that was asked for.
    aligned : Aligned
        Predictions in the numbering of the posterior.
    labels : TopLabels
        Labels of the draws.
    renumbered : ndarray or None
        New code of every code, -1 where it does not occur, for metrics over all items; None until `closed`.
    """

    metric: Metric
    aligned: Aligned
    labels: TopLabels
    renumbered: np.ndarray | None = None

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
        """Match predictions with a posterior, as the metric needs them."""
        view = Plausibility.of(tree)
        other = treatment_of_other(view, other)
        if not isinstance(metric, Metric):
            metric = metric_of(metric, arguments, truth, response, top)
        elif arguments or response:
            raise EvaluationError(
                f"{next(iter(arguments), 'response')}=: a Metric takes no arguments of functions"
            )
        elif truth is not None:
            metric = metric.against(truth)
        elif metric.truth == "plausibility" and view.is_of_category and metric.response != "scores":
            metric = metric.against("label")
        if metric.truth == "plausibility" and other == "label":
            raise EvaluationError(
                f'other="label": {metric.name} compares categories; {OTHER} is none'
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
        """Numbers by item and draw that a score may need, if more than the cells of the item."""
        metric = self.metric
        if metric.truth in ("set", "ranking"):
            return metric.top
        dense = metric.response != "labels" and metric.over == "item"
        dense = dense or metric.truth == "plausibility" or isinstance(metric.score, Certain)
        return self.aligned.predicted.shape[-1] if dense and not metric.grader else 0

    @property
    def called(self) -> PerDraw | None:
        """The function, if the metric is one."""
        return self.metric.score if isinstance(self.metric.score, PerDraw) else None

    def truth(self, block: Block, rng: np.random.Generator) -> Any:
        """Return the truth of a block: (sample, item), or (sample, item, position or category); to grade, the block."""
        metric, labels = self.metric, self.labels
        if metric.truth == "plausibility":
            if metric.grader:
                return block
            return dense_plausibility(labels, block).transpose(2, 0, 1)
        if metric.truth == "sampled":
            return sampled_label(labels, block, rng).T
        if metric.truth == "label":
            return labels.draw(block, 1, rng)[0].T
        return labels.draw(block, metric.top, rng).transpose(2, 1, 0)

    def by_item(self, truth: Any, items: slice) -> list[np.ndarray]:
        """Return the scores (item, sample) of some items, for each classifier."""
        metric, predicted = self.metric, self.aligned.predicted
        if isinstance(truth, Block) or metric.response == "ranks":
            return self._by_grades(truth, predicted[:, items])
        found = [np.asarray(metric.score(truth, one[items])).T for one in predicted]
        if found[0].T.shape != truth.shape[:2]:
            raise EvaluationError(
                f"{metric.name}: score returned shape {found[0].T.shape}, expected (..., item) = {truth.shape[:2]}"
            )
        return found

    def _by_grades(self, truth: np.ndarray | Block, predicted: np.ndarray) -> list[np.ndarray]:
        n, score = predicted.shape[-1], self.metric.grader
        assert score is not None
        if isinstance(truth, Block):
            graded = graded_plausibility(self.labels, truth, n)
        else:
            graded = graded_labels(truth, n)
        scores = [score(one, predicted[:, i]) for i, one in enumerate(graded)]
        return list(np.stack(scores, axis=1))

    def over_items(
        self, truth: np.ndarray, weights: np.ndarray | None, samples: np.ndarray
    ) -> np.ndarray:
        """Return the scores (classifier, sample) of all items together."""
        assert self.renumbered is not None
        new, n_labels = self.renumbered, int(self.renumbered.max()) + 1
        if self.metric.truth != "plausibility":
            truth = new[truth]
        predicted = self.aligned.predicted
        if self.metric.response == "labels":
            predicted = new[predicted]
        found = np.empty((len(predicted), len(truth)))
        for c, one in enumerate(predicted):
            try:
                found[c] = self.metric.score(truth, one, weights, n_labels)
            except FailedDrawError as failed:
                i, error = failed.args
                where = self._draw_in_words(int(samples[i]))
                raise EvaluationError(f"{self.metric.name} failed{where}: {error}") from error
        return found

    def map_draws[Result](
        self,
        function: Callable[[Block, slice, np.random.Generator], Result],
        seed: int,
        progressbar: bool,
    ) -> list[Result]:
        """Apply a function to blocks of draws; of a callable draw by draw, with a progress bar."""
        view, items = self.aligned.view, len(self.aligned.view.items)
        if self.called is None:
            return list(view.map_draws(function, seed, items * self.width))
        blocks = view.map_draws(function, seed, BLOCK_SIZE // FEW_DRAWS, most_threads=1)
        console = Console(stderr=True)
        with Progress(transient=True, console=console, disable=not progressbar) as progress:
            task = progress.add_task(self.metric.name, total=view.n_samples)
            results = []
            for block in blocks:
                results.append(block)
                progress.advance(task, FEW_DRAWS)
        return results

    def closed(self, seed: int) -> "Scorer":
        """Return the scorer with codes only for labels that occur, in the order of their names.

        Raises
        ------
        EvaluationError
            If an item has no plausible or no predicted label.
        """
        view, predicted = self.aligned.view, self.aligned.predicted
        n_names = len(view.categories)
        unnamed = self.labels.n_codes + 1 - n_names
        text = np.array([*view.categories.tolist(), *[OTHER] * unnamed])
        of_all = self.metric.truth == "plausibility"
        if self.metric.response != "labels" or of_all:
            used = np.arange(n_names)
        else:
            # in the same blocks as the scores, so that the same labels are drawn
            drawn = self.map_draws(lambda b, s, rng: self._occurring(b, rng), seed, False)
            used = np.unique([*chain.from_iterable(drawn), *np.unique(predicted).tolist()])
            used = used[used >= 0]
        if self.metric.response == "labels":
            self._check_labels(predicted)
        names = text[used]
        if view.integer_labels and OTHER not in names:
            names = names.astype(np.int64)
        # plausibilities stay in the order of the posterior
        ordered, place = (names, used) if of_all else np.unique(names, return_inverse=True)
        renumbered = np.full(len(text) + 2, NONE)  # -1 and -2, no label, find the last two
        renumbered[used] = place
        metric = self.metric
        if isinstance(metric.score, PerDraw):
            metric = replace(metric, score=metric.score.named(ordered))
        aligned = self.aligned
        if metric.response != "labels" and metric.truth != "plausibility":
            aligned = replace(aligned, predicted=predicted[..., np.argsort(place)])
        return replace(self, metric=metric, aligned=aligned, renumbered=renumbered)

    def _occurring(self, block: Block, rng: np.random.Generator) -> list[int]:
        codes = self.truth(block, rng)
        first = codes if codes.ndim == 2 else codes[..., 0]
        self._check_labels(first[..., None], "plausible")
        return (np.flatnonzero(np.bincount(codes.ravel() - NO_PREDICTION)) + NO_PREDICTION).tolist()

    def _check_labels(self, codes: np.ndarray, what: str = "predicted") -> None:
        empty = (codes[..., 0] < 0).any(axis=0)
        if empty.any():
            item = self.aligned.view.items[np.argmax(empty)]
            raise EvaluationError(
                f"item {item!s} has no {what} label; {self.metric.name} needs one of every item"
            )

    def _draw_in_words(self, sample: int) -> str:
        """Return ", chain 0, draw 17"."""
        array, dims = self.aligned.view.array, self.aligned.view.sample_dims
        place = np.unravel_index(sample, [array.sizes[d] for d in dims]) if dims else ()
        return "".join(
            f"{' at' if d == dims[0] else ','} {d} {array[d].to_numpy()[i] if d in array.coords else i}"
            for d, i in zip(dims, place, strict=True)
        )


def fixed_seed(random_seed: int | np.random.Generator | None) -> int:
    """Return a number from which the same draws can be made twice."""
    if isinstance(random_seed, int | np.integer):
        return int(random_seed)
    return int(np.random.default_rng(random_seed).integers(np.iinfo(np.int64).max))
