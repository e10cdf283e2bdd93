"""One metric, one posterior, one table of predictions: the truth of some draws, and the scores against it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import xarray as xr
from rich.console import Console
from rich.progress import Progress

from .alignment import Aligned, align
from .alignment_scores import align_scores
from .callables import ByDraw, FailedDrawError, PerDraw, metric_of
from .drawn_truth import dense_plausibility, sampled_label
from .errors import EvaluationError
from .metric import Metric, Response, Truth
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
        if metric.response != "labels":
            aligned = align_scores(metric, view, predictions, other)
        else:
            aligned = align(view, predictions, metric.top, other, ordered=metric.truth == "ranking")
        return cls(metric, aligned, TopLabels(aligned.view, other))

    @property
    def width(self) -> int:
        """Numbers by item and draw that a score may need, if more than the cells of the item."""
        dense = self.metric.response != "labels" and self.metric.over == "item"
        return (
            self.aligned.predicted.shape[-1] if dense or self.metric.truth == "plausibility" else 0
        )

    @property
    def called(self) -> PerDraw | None:
        """The function, if the metric is one."""
        return self.metric.score if isinstance(self.metric.score, PerDraw) else None

    def truth(self, block: Block, rng: np.random.Generator) -> np.ndarray:
        """Return the truth of a block: (sample, item), or (sample, item, position or category)."""
        metric, labels = self.metric, self.labels
        if metric.truth == "plausibility":
            return dense_plausibility(labels, block).transpose(2, 0, 1)
        if metric.truth == "sampled":
            return sampled_label(labels, block, rng).T
        if metric.truth == "label":
            return labels.draw(block, 1, rng)[0].T
        return labels.draw(block, metric.top, rng).transpose(2, 1, 0)

    def by_item(self, truth: np.ndarray, items: slice) -> list[np.ndarray]:
        """Return the scores (item, sample) of some items, for each classifier."""
        metric, predicted = self.metric, self.aligned.predicted
        found = [np.asarray(metric.score(truth, one[items])).T for one in predicted]
        if found[0].T.shape != truth.shape[:2]:
            raise EvaluationError(
                f"{metric.name}: score returned shape {found[0].T.shape}, expected (..., item) = {truth.shape[:2]}"
            )
        return found

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
        if self.metric.response != "labels":
            used = np.arange(n_names)
        else:
            drawn = view.map_draws(lambda b, s, rng: self._occurring(b, rng), seed)
            used = np.unique([*chain.from_iterable(drawn), *np.unique(predicted).tolist()])
            self._check_labels(predicted)
            used = used[used >= 0]
        names = text[used]
        if view.integer_labels and OTHER not in names:
            names = names.astype(np.int64)
        ordered, place = np.unique(names, return_inverse=True)
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
        return np.unique(codes).tolist()

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
