"""Dawid and Skene (1979): patients judged by anaesthetists."""

import warnings
from functools import cache

import numpy as np
from raterzoo import evaluation, inference, models

from .row import Paper, Row, table


def patients() -> models.Labels:
    """Return the labels of the 45 patients."""
    return models.Labels.from_table(table("anesthesia"), label="rating")


@cache
def _em(**options):
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return inference.dawid_skene_em(patients(), prior=None, **options)


def _numbers(values) -> str:
    return ", ".join(f"{value:.2f}" for value in np.asarray(values))


def _best() -> str:
    found = _em(restarts=100, random_seed=1)
    best, vote = (found["optimum_plausibility"][k] for k in (0, int(found["vote_optimum"])))
    changed = (best.argmax("category") != vote.argmax("category")).to_numpy()
    items = ", ".join(map(str, found["item"].to_numpy()[changed]))
    return f"{found.attrs['log_likelihood']:.4f}; another label for patient {items}"


def _posterior() -> str:
    tree = inference.sample(models.dawid_skene(patients()), random_seed=1, progressbar=False)
    accuracy = evaluation.rater_quality(tree)["accuracy"].mean(("chain", "draw"))
    return _numbers(accuracy)


CALL = "inference.dawid_skene_em(patients, prior=None, restarts=0)"
PAPER = Paper(
    "Error rates of observers",
    "Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the "
    "EM algorithm, Journal of the Royal "
    "Statistical Society C 28(1), 20-28, [doi:10.2307/2346806](https://doi.org/10.2307/2346806).",
    "`patients` are the labels of `raterzoo data fetch anesthesia`, which needs no network.",
    [
        Row(
            "table 2",
            "prevalence of the four categories",
            ".40, .42, .11, .07",
            f'{CALL}["prevalence"]',
            lambda: _numbers(_em(restarts=0)["prevalence"]),
        ),
        *(
            Row(
                "table 2",
                f"observer 1, true category {k + 1}",
                printed,
                f'{CALL}["confusion"].sel(rater=1, category={k + 1})',
                lambda k=k: _numbers(_em(restarts=0)["confusion"].sel(rater=1)[k]),
            )
            for k, printed in enumerate(
                (".89, .11, 0, 0", ".07, .88, .05, 0", "0, .34, .66, 0", "0, 0, .56, .44")
            )
        ),
        Row(
            "-",
            "log likelihood there",
            "-",
            f'{CALL}.attrs["log_likelihood"]',
            lambda: f"{_em(restarts=0).attrs['log_likelihood']:.4f}",
        ),
        Row(
            "-",
            "largest maximum of 100 starts",
            "-",
            "inference.dawid_skene_em(patients, prior=None, restarts=100, random_seed=1)",
            _best,
            note="the published solution is a local maximum",
        ),
        Row(
            "-",
            "accuracy of the five raters, by the posterior",
            "-",
            "evaluation.rater_quality(inference.sample(models.dawid_skene(patients)))",
            _posterior,
            long=True,
        ),
    ],
    [
        'The paper starts from the shares of the votes; so does `start="vote"`. `restarts=` adds '
        "random starts near them.",
        "Maximum likelihood gives probabilities of 0 and 1 from a handful of answers; the "
        "posterior does not.",
        "One widespread copy of the data, in R's rater, differs in one cell (patient 7, second "
        "answer of observer 1); ours is the paper's.",
        "Printed numbers are at second hand: the prevalence and observer 1, to two decimals. "
        "Tables of the others were not compared.",
    ],
    {},
)
