"""The twenty pairs of model and data, and the data: simulated, or printed by Dawid and Skene (1979)."""

import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
from raterzoo import models

HERE = Path(__file__).parent
PATIENTS = HERE.parents[1] / "examples" / "patients.csv"
OF_VOTES = ("quality_scale", "quality", "reliability_scale", "log_reliability")
OF_SCORES = ("location_mean", "location_spread", "location", "bias_spread", "rater_bias", "variance_shape")


@dataclass(frozen=True)
class Law:
    """Model of the database: its parameters, and number of draws of which one is kept, so that they are nearly independent."""

    title: str
    parameters: tuple[str, ...]
    thin: int
    reference: str


LAWS = {
    "dawid_skene": Law("Dawid-Skene", ("prevalence", "confusion"), 20, "doi:10.2307/2346806"),
    "multinomial": Law("One confusion matrix", ("prevalence", "confusion"), 20, "doi:10.1162/tacl_a_00040"),
    "one_coin": Law("One coin", ("prevalence", "ability"), 20, "JMLR 11 (Raykar et al. 2010)"),
    "class_conditional": Law("Class-conditional", ("prevalence", "ability"), 20, "arXiv:1411.4086"),
    "mace": Law("MACE", ("prevalence", "competence", "spam"), 20, "NAACL 2013 (Hovy et al.)"),
    "dirichlet": Law("Dirichlet", ("plausibility",), 1, "arXiv:2307.02191"),
    "normal_scores": Law("Normal scores", ("location", "variance"), 1, "conjugate"),
    "hierarchical_scores": Law(
        "Hierarchical scores", (*OF_SCORES, "usual_variance", "rater_variance"), 100, "raterzoo"
    ),
    "bradley_terry": Law("Bradley-Terry", OF_VOTES, 10, "doi:10.1093/biomet/39.3-4.324"),
    "bradley_terry_ties": Law("Bradley-Terry-Davidson", (*OF_VOTES, "tie"), 10, "Davidson 1970"),
    "thurstone": Law("Thurstone, case V", OF_VOTES, 10, "Thurstone 1927"),
}


def _of_labels(labels: models.Labels) -> dict[str, Any]:
    """Labels as data of Stan, an answer a row, codes from 1."""
    codes = (labels.annotation_item, labels.annotation_rater, labels.label_code)
    item, rater, label = ((np.repeat(code, labels.count) + 1).tolist() for code in codes)
    sizes = {"I": len(labels.items), "R": len(labels.raters), "K": len(labels.categories), "N": len(item)}
    return {**sizes, "item": item, "rater": rater, "label": label}


def _of_scores(scores: models.Scores) -> dict[str, Any]:
    """Scores as data of Stan, to three decimals, with the centre and unit of the priors."""
    given = np.repeat(scores.score.round(3), scores.count)
    item, rater = (
        np.repeat(code, scores.count) + 1 for code in (scores.annotation_item, scores.annotation_rater)
    )
    sizes = {"I": len(scores.items), "R": len(scores.raters), "N": len(given)}
    found = {"item": item.tolist(), "rater": rater.tolist(), "score": given.tolist()}
    return {**sizes, **found, "mean_score": 0.0, "spread": 1.0}


def _of_votes(votes: models.Comparisons) -> dict[str, Any]:
    """Votes as data of Stan, one a row; outcome 1 is left, 2 right, 3 a tie."""
    codes = {
        "left": votes.left,
        "right": votes.right,
        "rater": votes.annotation_rater,
        "outcome": votes.outcome,
    }
    found = {name: (np.repeat(code, votes.count) + 1).tolist() for name, code in codes.items()}
    return {"I": len(votes.items), "R": len(votes.raters), "N": len(found["left"]), **found}


def _patients() -> dict[str, Any]:
    """Answers of the anaesthetists; equal ones of the first are counted in the table."""
    return _of_labels(models.Labels.from_table(pd.read_csv(PATIENTS), count="count"))


def _labels(**arguments: Any) -> Callable[[], dict[str, Any]]:
    return lambda: _of_labels(models.simulators.labels(random_seed=1, **arguments).data)


def _scores(**arguments: Any) -> Callable[[], dict[str, Any]]:
    return lambda: _of_scores(models.simulators.scores(random_seed=2, center=0.0, **arguments).data)


def _votes(**arguments: Any) -> Callable[[], dict[str, Any]]:
    given = {"items": 10, "raters": 8, "degree": 6, "reliability_range": (2.0, 12.0)}
    return lambda: _of_votes(models.simulators.comparisons(random_seed=3, **given, **arguments).data)


@dataclass(frozen=True)
class Source:
    """Data of the database: what they are, and the function that makes them."""

    title: str
    make: Callable[[], Mapping[str, Any]]


SOURCES = {
    "patients": Source("Fitness for anaesthesia, table 1 of Dawid and Skene (1979), doi:10.2307/2346806", _patients),
    "labels_sparse": Source(
        "Simulated by dawid_skene: 40 items, 3 answers each",
        _labels(model="dawid_skene", items=40, raters=8, categories=3, answers=3),
    ),
    "labels_binary": Source(
        "Simulated by one_coin: 60 items of 2 categories, 4 answers each",
        _labels(model="one_coin", items=60, raters=6, categories=2, answers=4),
    ),
    "scores_many": Source("Simulated by hierarchical_scores: 20 items, 5 scores each", _scores(items=20, raters=8, answers=5)),
    "scores_few": Source("Simulated by hierarchical_scores: 12 items, 3 scores each", _scores(items=12, raters=6, answers=3)),
    "votes_decided": Source("Simulated by bradley_terry: 10 items, 8 raters, no ties", _votes()),
    "votes_tied": Source("Simulated by bradley_terry with ties: 10 items, 8 raters", _votes(tie=1.0)),
}  # fmt: skip

PAIRS = [
    *(("patients", law) for law in ("dawid_skene", "multinomial", "one_coin", "class_conditional", "mace", "dirichlet")),
    *(("labels_sparse", law) for law in ("dawid_skene", "class_conditional", "mace", "one_coin", "dirichlet")),
    *(("labels_binary", law) for law in ("dawid_skene", "multinomial")),
    *((scores, law) for scores in ("scores_many", "scores_few") for law in ("normal_scores", "hierarchical_scores")),
    *(("votes_decided", law) for law in ("bradley_terry", "thurstone")),
    ("votes_tied", "bradley_terry_ties"),
]  # fmt: skip


# of slow pairs, more than of their law
THIN = {"labels_sparse-mace": 40, "labels_sparse-one_coin": 40, "labels_binary-multinomial": 100}


def thin_of(source: str, law: str) -> int:
    """Return the number of draws of which one is kept."""
    return THIN.get(name_of(source, law), LAWS[law].thin)


def name_of(source: str, law: str) -> str:
    """Name of a posterior, as in posteriordb."""
    return f"{source}-{law}"


def read_data(source: str) -> dict[str, Any]:
    """Read the committed data."""
    return json.loads((HERE / "data" / "data" / f"{source}.json").read_text("utf-8"))


def build(law: str, data: Mapping[str, Any]) -> pm.Model:
    """Build the PyMC model by the function of its file."""
    spec = importlib.util.spec_from_file_location(law, HERE / "models" / "pymc" / f"{law}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.model(data)
