"""Studies of models with an option that gives them another sampler, and that sampler on new annotations."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from raterzoo import models
from raterzoo.inference.kernels.random_streams import stream
from raterzoo.inference.labels import predicted as count_chains
from raterzoo.inference.labels.kernels import predicted as count_chain
from raterzoo.inference.labels.kernels.item_states import DirichletDraws
from raterzoo.inference.labels.predicted import begin_predicted_counts, read_predicted_counts
from raterzoo.inference.rankings import gibbs as worth_chains
from raterzoo.inference.rankings import predicted as ranking_chains
from raterzoo.inference.rankings.kernels import predicted as ranking_chain
from raterzoo.inference.rankings.kernels.predicted import StrengthDraws, StrengthState
from raterzoo.inference.rankings.predicted import begin_predicted_worths, read_predicted_worths
from raterzoo.inference.runs.run import ChainPlan

from . import designs
from .chains import KEPT, Chains
from .joint_law import Values
from .studies import FEW_DATA, STUDIES, Study, builder_of, methods_of, of_items, of_places

__all__ = ["CHAINS", "FEW_VARIANTS", "VARIANTS", "few_data_of", "methods_of_study", "model_of", "study_of"]

STRENGTH = "prediction_strength"


def predictions(data: Any, seed: int = 1) -> xr.DataArray:
    """Probabilities of the categories of all items but the last, which has no prediction."""
    items, categories = data.items[: max(1, len(data.items) - 1)], data.categories
    p = np.random.default_rng(seed).dirichlet(np.full(len(categories), 0.6), len(items))
    return xr.DataArray(p, {"item": items, "category": categories}, ("item", "category"))


def few_labels(items: int) -> models.Labels:
    """One label of three categories for each item, by anonymous raters."""
    names = {
        "item": np.arange(items),
        "x": np.ones(items, int),
        "y": np.zeros(items, int),
        "z": np.zeros(items, int),
    }
    return models.Labels.from_counts(names)


def predicted_rankings(data: Any, concentration: float = 0.5) -> pm.Model:
    """Plackett-Luce with predictions."""
    options = {"prior_predictions": predictions(data), "prediction_scale": 2.0}
    return models.plackett_luce(data, concentration=concentration, candidates="all", **options)


def predicted_labels(data: Any, concentration: float = 0.7) -> pm.Model:
    """Dirichlet counts with predictions."""
    return models.dirichlet(
        data, concentration=concentration, prior_predictions=predictions(data), prediction_scale=2.0
    )


def votes_with_covariates(data: Any, sign: float = 1.0) -> pm.Model:
    """Bradley-Terry with ties, and two covariates of each vote; `sign` turns the first."""
    rng, table = np.random.default_rng(1), data.to_table()
    names = ("rater", "left", "right", "winner")
    votes = {name: np.repeat(np.asarray(table[name]), data.count).tolist() for name in names}
    covariates = {"length": sign * rng.normal(size=len(data)), "style": rng.integers(-1, 2, len(data))}
    return models.bradley_terry(data, ties="davidson", vote_covariates=votes | covariates)


class StrengthChains(Chains):
    """Gibbs of Plackett-Luce with predictions in the prior."""

    begun_by = begin_predicted_worths

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_predicted_worths(model)
        self.shape = tuple(int(n) for n in np.asarray(model["worth"].shape.eval()))

    def told(self, answers: np.ndarray) -> Any:
        """Return the law with these rankings."""
        return replace(self.law, likelihood=replace(self.law.likelihood, block=answers))

    def named(self, draws: StrengthDraws) -> Values:
        """Return draws by the names of the free variables."""
        values = {"worth": np.exp(draws.log_worth).reshape(-1, *self.shape), STRENGTH: draws.strength}
        return {str(rv.name): values[str(rv.name)] for rv in self.model.free_RVs}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin)
        drawn = ranking_chains.draw_strengths(self.told(answers), 1, plan)
        return self.named(StrengthDraws(*(x[0] for x in drawn)))

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Sweep, the first item twice for each move of the strength."""
        law = self.told(answers)
        posterior = ranking_chains.posterior_of(law)
        log_worth, strength = np.log(values["worth"]).ravel(), np.atleast_1d(values[STRENGTH]).astype(float)
        repeats = np.ones(len(posterior.candidate_start) - 1, np.int64)
        repeats[0] = 2
        state = StrengthState(log_worth, strength.copy(), np.full(2, 3.0))
        draws = StrengthDraws(np.empty((1, len(log_worth))), np.empty(1))
        ranking_chain.sample_strengths(stream(rng), posterior, law.prior, (0, moves, repeats), (state, draws))
        return {name: x[0] for name, x in self.named(draws).items()}


class CountChains(Chains):
    """Chains of the strength of predictions in a prior of label counts."""

    begun_by = begin_predicted_counts

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_predicted_counts(model)
        self.keys = worth_chains.item_keys(np.asarray(model.coords["item"]))

    def told(self, answers: np.ndarray) -> Any:
        """Return the law with these counts."""
        return replace(self.law, items=self.law.items._replace(counts=answers.astype(np.float64)))

    def named(self, strength: np.ndarray, draws: DirichletDraws) -> Values:
        """Return draws of one chain by the names of the free variables."""
        values = {STRENGTH: strength, self.law.name: draws.plausibility}
        return {str(rv.name): values[str(rv.name)][0] for rv in self.model.free_RVs}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan, law = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin), self.told(answers)
        strength = count_chains.continue_strength(law, plan, count_chains.begin_strength(law, plan))
        streams = count_chains.streams_of_items(self.keys, 1, seed)
        return self.named(strength, count_chains.draw_items(law, streams, strength, plan))

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Move the strength, then draw the plausibilities given it."""
        law, plan = self.told(answers), ChainPlan(1, 1, 0, 0, 1, "float64")
        state, strength = np.array([float(values[STRENGTH]), 3.0]), np.empty(1)
        count_chain.sample_strength(stream(rng), law.telling, law.scale, (0, moves), (state, strength))
        streams = count_chains.streams_of_items(self.keys, 1, int(rng.integers(2**32)))
        drawn = self.named(strength[None], count_chains.draw_items(law, streams, strength[None], plan))
        return {name: x[0] for name, x in drawn.items()}


CHAINS: Mapping[str, type[Chains]] = {
    "dirichlet_with_predictions": CountChains,
    "plackett_luce_with_predictions": StrengthChains,
}

VARIANTS: Mapping[str, Study] = {
    name: study
    for name, study in (
        ("dirichlet_with_predictions", Study(
            "dirichlet",
            "12 items, 1 to 5 labels each, 3 categories, predictions of 11 items",
            lambda: designs.many_labels(12),
            predicted_labels,
            of_items,
            (200, 10),
        )),
        ("bradley_terry_with_vote_covariates", Study(
            "bradley_terry",
            "27 votes of 3 raters on 4 items, with ties and 2 covariates of each vote",
            designs.comparisons,
            votes_with_covariates,
            of_places("quality"),
        )),
        ("plackett_luce_with_predictions", Study(
            "plackett_luce",
            "4 items, 3 raters, partial rankings of 4 categories, predictions of 3 items",
            lambda: designs.rankings(4),
            predicted_rankings,
            of_items,
            (300, 20),
        )),
    )
}  # fmt: skip
"""By name of the variant; the name of the study is that of its model."""

FEW_VARIANTS: Mapping[str, Study] = {
    name: study
    for name, study in (
        ("dirichlet_with_predictions", Study(
            "dirichlet", "3 items, 1 label each, 3 categories, predictions of 2 items", lambda: few_labels(3),
            predicted_labels, of_items, (200, 10),
        )),
        ("plackett_luce_with_predictions", Study(
            "plackett_luce", "2 items, 3 raters, partial rankings of 4 categories, predictions of 1 item",
            lambda: designs.rankings(2), predicted_rankings, of_items, (300, 20),
        )),
    )
}  # fmt: skip


def model_of(study: str) -> str:
    """Return the name in the catalog of the model of a study."""
    return VARIANTS[study].name if study in VARIANTS else builder_of(study)


def study_of(name: str) -> Study:
    """Return the study of a model or variant."""
    return {**STUDIES, **VARIANTS}[name]


def few_data_of(name: str) -> Study:
    """Return the study with few data of a model or variant."""
    return {**FEW_DATA, **FEW_VARIANTS}[name]


def methods_of_study(name: str) -> tuple[str, ...]:
    """Return the methods that draw a model or variant."""
    if name not in VARIANTS:
        return methods_of(name)
    return ("gibbs", "nuts") if name in CHAINS else ("nuts",)
