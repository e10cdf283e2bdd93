"""Analysis of scores: which items are highest, who is strict, whether to rely on it."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from ...evaluation.certainty.scale_ends import scale_ends
from ...models import Scores
from ...posterior.errors import EvaluationError
from ...posterior.schema import SAMPLE
from ..sections.model_fit import checked
from ..sections.predictive_fit import with_replicates
from ..sections.scores import mean_scores
from ..settings import Settings
from .analysis import Analysis, Quantity, Soundness, table

ENDS = (0.05, 0.95)


@dataclass(frozen=True)
class ScoreFacts:
    """Numbers of the answers about scores."""

    items: int
    scores: int
    raters: int
    highest: str
    location: Quantity
    sure: float  # probability that its location is the highest
    told_apart: bool
    lax: tuple[str, Quantity] | None  # rater of the highest bias
    strict: tuple[str, Quantity] | None
    differ: bool  # whether the intervals of their biases do not overlap
    misfit: bool  # whether scores at the bounds contradict a normal law
    sound: Soundness


@dataclass(frozen=True, eq=False)
class ScoreAnalysis(Analysis):
    """Analysis of scores: ``items`` has locations and ranks, ``raters`` bias and scale with intervals."""

    kind: ClassVar[str] = "scores"
    settings: Settings
    predicted: xr.DataArray | None = None  # side of the first threshold of the settings
    metrics: tuple[str, ...] = ()

    @property
    def scores(self) -> Scores:
        """The annotations."""
        assert isinstance(self.data, Scores)
        return self.data

    @cached_property
    def items(self) -> pd.DataFrame:
        """Items, the highest first: scores, their mean, location with its interval, and the probability of being the highest."""
        data, location = self.scores, self.tree["posterior"]["location"].transpose(*SAMPLE, "item")
        draws = location.to_numpy().reshape(-1, location.sizes["item"])
        low, high = np.quantile(draws, ENDS, axis=0)
        highest = np.bincount(draws.argmax(axis=1), minlength=draws.shape[1]) / len(draws)
        frame = table(
            {
                "item": data.items.astype(str),
                "scores": np.bincount(data.annotation_item, data.count, len(data.items)).astype(int),
                "mean_score": mean_scores(data),
                "location": draws.mean(axis=0),
                "location_low": low,
                "location_high": high,
                "highest": highest,
            }
        )
        return frame.sort_values("location", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def raters(self) -> pd.DataFrame:
        """Raters, the highest bias first: scores, bias with its interval, and scale; without rows if the model has none."""
        posterior, data = self.tree["posterior"].to_dataset(), self.scores
        if "rater_bias" not in posterior:
            return table({name: [] for name in ("rater", "scores", "bias", "bias_low", "bias_high", "scale")})
        low, high = posterior["rater_bias"].quantile(ENDS, SAMPLE).to_numpy()
        frame = table(
            {
                "rater": posterior["rater"].to_numpy().astype(str),
                "scores": np.bincount(data.annotation_rater, data.count, len(data.raters)).astype(int),
                "bias": posterior["rater_bias"].mean(SAMPLE).to_numpy(),
                "bias_low": low,
                "bias_high": high,
                "scale": posterior["rater_scale"].mean(SAMPLE).to_numpy(),
            }
        )
        return frame.sort_values("bias", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def replicated(self) -> xr.DataTree | None:
        """The tree with simulated annotations; None without the model."""
        return with_replicates(self.tree, self.model, self.settings.seed)

    @cached_property
    def checked(self) -> xr.Dataset | EvaluationError:
        """Checks of the model, or why there are none."""
        return checked(self.replicated, self.settings.seed)

    @cached_property
    def facts(self) -> ScoreFacts:
        """Numbers of the answers."""
        first, raters, ends = self.items.iloc[0], self.raters, scale_ends(self.tree)
        lax = strict = None
        if len(raters) > 1:
            lax, strict = (
                (
                    str(row["rater"]),
                    Quantity(*(float(row[name]) for name in ("bias", "bias_low", "bias_high"))),
                )
                for row in (raters.iloc[0], raters.iloc[-1])
            )
        return ScoreFacts(
            items=len(self.scores.items),
            scores=len(self.scores),
            raters=len(self.scores.raters),
            highest=str(first["item"]),
            location=Quantity(
                *(float(first[name]) for name in ("location", "location_low", "location_high"))
            ),
            sure=float(first["highest"]),
            told_apart=len(raters) > 0,
            lax=lax,
            strict=strict,
            differ=lax is not None and strict is not None and lax[1].low > strict[1].high,
            misfit=bool(ends is not None and ends.misfits),
            sound=self.sound,
        )
