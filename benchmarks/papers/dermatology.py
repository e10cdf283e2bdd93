"""Stutz, Cemgil et al. (2025): uncertain ground truth in dermatology."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from raterzoo import evaluation, inference, models, papers
from raterzoo.cli.demo import compare_with_paper

from .row import NoData, Paper, Row, table

QUIET = {"random_seed": 5, "log_likelihood": False, "progressbar": False}


@cache
def cases() -> tuple[models.PartialRankings, dict[str, str]]:
    """Return the rankings of 1,947 cases, and the risk of each condition."""
    conditions = table("dermatology_conditions").rename(columns={"category": "name", "value": "risk"})
    frame = table("dermatology_ddx_long")
    frame["category"] = conditions["name"].to_numpy()[frame["condition"]]
    frame["rank"] = frame["block"] + 1
    rankings = models.PartialRankings.from_table(
        frame, item="case", rater="reader", categories=conditions["name"].tolist()
    )
    return rankings, dict(zip(conditions["name"], conditions["risk"].astype(str), strict=True))


@cache
def medium():
    """Draw from Plackett-Luce at medium reliability, with the authors' pseudo-category."""
    model = models.plackett_luce(cases()[0], concentration=1.0, unranked="single", reliability=3)
    return inference.sample(model, draws=500, **QUIET)


@cache
def _certainty(name: str, **options) -> np.ndarray:
    tree = (
        medium()
        if name == "plackett_luce"
        else inference.sample(models.prirn(cases()[0], **options), draws=500, **QUIET)
    )
    return evaluation.annotation_certainty(tree, random_seed=1).to_numpy()


def _below(values) -> str:
    return f"{100 * np.mean(np.asarray(values) < 0.99):.1f} %"


def _risk() -> str:
    return _below(evaluation.annotation_certainty(medium(), groups=cases()[1], random_seed=1))


def _correlation(**options) -> str:
    both = _certainty("plackett_luce"), _certainty("prirn", reliability=30, **options)
    return f"{np.corrcoef(*both)[0, 1]:.2f}"


def _agreement() -> str:
    found = papers.certainty_and_agreement(medium(), cases()[0], tie_weight="full")
    return f"{float(found['pearson']):.3f}"


@cache
def _published() -> pd.DataFrame:
    return pd.DataFrame(compare_with_paper(1))


def _accuracies(figure: str, item: str, model: str) -> str:
    rows = _published()
    own = rows[(rows["figure"] == figure) & (rows["item"] == item) & (rows["model"] == model)]
    return ", ".join(
        f"{name}: {value:.2f}" for name, value in zip(own["classifier"], own["ours"], strict=True)
    )


def _certainties_of_prirn() -> str:
    shares = [_below(_certainty("prirn", reliability=gamma)) for gamma in (10, 30, 100)]
    return ", ".join(shares)


@cache
def _sources():
    return evaluation.uncertainty_sources(medium())


def _split() -> str:
    found = _sources()
    share = float(found["inherent"].sum() / found["total"].sum())
    return f"{100 * share:.0f} % inherent, {100 * (1 - share):.0f} % of annotation"


def _split_by_item() -> str:
    found = _sources()
    share = (found["annotation"] / found["total"]).to_numpy()
    low, middle, high = np.quantile(share, [0.05, 0.5, 0.95])
    return f"{100 * middle:.0f} %; nine tenths of the cases from {100 * low:.0f} to {100 * high:.0f} %"


def _sweep_of_prirn() -> str:
    predictions = evaluation.predictions_from_table(
        models.published_ddx_predictions(), rank="rank", classifier="classifier"
    )
    one = predictions.sel(classifier="A")
    published = models.published_ddx_cases().select(items=predictions["item"].to_numpy())
    trees = inference.sweep(
        lambda gamma: models.prirn(published, reliability=gamma, tie_weight="full"),
        [10, 30, 100],
        draws=500,
        **QUIET,
    )
    said = []
    for metric in (evaluation.top_k_accuracy(3), evaluation.set_accuracy(2), evaluation.average_overlap(3)):
        found = evaluation.reliability_sweep(trees, metric, one, random_seed=1)
        said.append(f"{metric.name}: {', '.join(f'{value:.2f}' for value in found['mean'].to_numpy())}")
    return "; ".join(said)


@cache
def _images() -> models.Labels:
    path = Path(os.environ.get("RATERZOO_DATA", "")) / "cifar10h_counts.npy"
    if not path.exists():
        raise NoData(path.name)
    counts = np.load(path)
    coords = {"item": np.arange(len(counts)), "category": [f"class {k}" for k in range(counts.shape[1])]}
    return models.Labels.from_counts(xr.DataArray(counts, coords, ("item", "category")))


def _uncertain_images() -> str:
    tree = inference.sample(models.dirichlet(_images(), concentration=1), draws=250, **QUIET)
    return str(int((evaluation.annotation_certainty(tree, random_seed=1) < 0.99).sum()))


@cache
def classifiers() -> xr.DataArray:
    """Return the probabilities of models A to D that the authors published."""
    frame = table("dermatology_predictions")
    arrays = [
        xr.DataArray(
            own.iloc[:, 2:].to_numpy(float),
            {"item": own["item"], "category": list(frame.columns[2:])},
            ("item", "category"),
        )
        for _, own in frame.groupby("classifier")
    ]
    return xr.concat(arrays, pd.Index(sorted(frame["classifier"].unique()), name="classifier"))


def _of_classifiers() -> str:
    if not len(classifiers()):
        raise NoData("dermatology_predictions")
    metric = evaluation.top_k_accuracy(3)
    found = evaluation.uncertainty_adjusted(metric, medium(), classifiers(), random_seed=1)
    mean = found.mean(("chain", "draw"))
    return ", ".join(
        f"{name.item()}: {value:.3f}" for name, value in zip(mean["classifier"], mean.to_numpy(), strict=True)
    )


def _sorted():
    certainties = {
        "condition": evaluation.annotation_certainty(medium(), random_seed=1),
        "risk": evaluation.annotation_certainty(medium(), groups=cases()[1], random_seed=1),
    }
    return evaluation.plots.sorted_certainty(certainties).figure


def _scatter():
    own = evaluation.annotation_certainty(medium(), random_seed=1)
    other = own.copy(data=_certainty("prirn", reliability=30, tie_weight="full"))
    both = own.to_numpy(), other.to_numpy()
    correlation = float(np.corrcoef(*both)[0, 1])
    names = ("Plackett-Luce", "PrIRN")
    return evaluation.plots.certainty_scatter(own, other, correlation=correlation, labels=names).figure


def _agreeing():
    found = papers.certainty_and_agreement(medium(), cases()[0], tie_weight="full")
    return evaluation.plots.certainty_agreement(found).figure


def _risks():
    value = {name: int(code) for name, code in cases()[1].items()}
    sure = evaluation.annotation_certainty(medium(), groups=cases()[1], random_seed=1)
    return evaluation.plots.risk(sure, evaluation.expected_value(medium(), value))


def _strips():
    published = models.published_ddx_cases()
    model = models.plackett_luce(published, concentration=1.0, unranked="single", reliability=3)
    tree = inference.sample(model, draws=500, **QUIET)
    return evaluation.plots.plausibility_strips(
        tree, published.items[:3], point={"IRN": inference.irn(published)}
    ).figure


SPREAD = "evaluation.annotation_certainty(medium{}) < .99"
DEMO = (
    "evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(3), tree, models.published_ddx_predictions())"
)
PAPER = Paper(
    "Uncertain ground truth in dermatology",
    "Stutz, Cemgil, Guha Roy et al. (2025), Evaluating medical AI systems in dermatology under "
    "uncertain ground truth, Medical Image "
    "Analysis. Numbers of sections and figures are those of "
    "[arXiv:2307.02191v2](https://arxiv.org/abs/2307.02191v2), of 13 April "
    "2025, whose title is Evaluating AI systems under uncertain ground truth: a case study in dermatology.",
    "`rankings`, `risk` and `classifiers` are read from what `raterzoo data fetch dermatology` "
    "writes; `medium = "
    'inference.sample(models.plackett_luce(rankings, concentration=1, unranked="single", '
    "reliability=3))`; `tree` the same of the "
    'seven published cases, and `prirn` with `reliability=30, tie_weight="full"`. `raterzoo '
    "demo` writes figures 5 and 17.",
    [
        *(
            Row(
                figure,
                f"top-3 accuracy, {item}, {name}",
                printed,
                DEMO,
                lambda f=source, i=item, m=model: _accuracies(f, i, m),
                long=True,
            )
            for figure, source, item, name, model, printed in (
                ("figure 5", "5", "fig3", "Plackett-Luce", "plackett_luce", "A: .70, B: 1.00"),
                ("figure 5", "5", "fig3", "PrIRN", "prirn", "A: .52, B: .99"),
                ("figure 17", "17", "fig17a", "Plackett-Luce", "plackett_luce", "A: .39, D: .58"),
                ("figure 17", "17", "fig17a", "PrIRN", "prirn", "A: .41, D: .61"),
                ("figure 17", "17", "fig17b", "Plackett-Luce", "plackett_luce", "A: .27, B: .42"),
                ("figure 17", "17", "fig17b", "PrIRN", "prirn", "A: .40, B: .62"),
            )
        ),
        Row(
            "figure 7",
            "correlation of certainties, Plackett-Luce and PrIRN",
            ".90",
            "np.corrcoef(annotation_certainty(medium), annotation_certainty(prirn))",
            lambda: _correlation(tie_weight="full"),
            long=True,
            note="with the undivided weights of the authors' code",
        ),
        Row(
            "figure 7",
            "the same by eq. 3",
            "-",
            "models.prirn(rankings, reliability=30)",
            _correlation,
            long=True,
            note="the printed figure is not of the printed equation",
        ),
        Row(
            "figure E.14",
            "correlation of certainty and agreement",
            ".85",
            'papers.certainty_and_agreement(medium, rankings, tie_weight="full")',
            _agreement,
            long=True,
        ),
        Row(
            "figure E.16",
            "cases with a certainty below .99",
            "59 %",
            SPREAD.format(""),
            lambda: _below(_certainty("plackett_luce")),
            long=True,
        ),
        Row(
            "figure E.16",
            "cases whose risk is less certain than .99",
            "38.2 %",
            SPREAD.format(", groups=risk"),
            _risk,
            long=True,
        ),
        Row(
            "figure E.16",
            "cases with a certainty below .99 by PrIRN at reliability 10, 30 and 100",
            "-",
            "evaluation.annotation_certainty(inference.sample(models.prirn(rankings, reliability=gamma))) < .99",
            _certainties_of_prirn,
            long=True,
        ),
        Row(
            "figure 6",
            "accuracy of A by PrIRN at reliability 10, 30 and 100, published cases",
            "-",
            "evaluation.reliability_sweep(inference.sweep(prirn, [10, 30, 100]), metric, predictions)",
            _sweep_of_prirn,
            long=True,
            note="the paper sweeps Plackett-Luce",
        ),
        Row(
            "section 2",
            "entropy of the first label, split by the law of total entropy",
            "open",
            "evaluation.uncertainty_sources(medium)",
            _split,
            long=True,
            note="inherent is what would remain if plausibilities were known",
        ),
        Row(
            "section 2",
            "the same by case: what is of the annotation, in the middle case",
            "open",
            'found["annotation"] / found["total"]',
            _split_by_item,
            long=True,
        ),
        Row(
            "CIFAR-10H",
            "images with a certainty below .99",
            "178",
            "evaluation.annotation_certainty(inference.sample(models.dirichlet(images, concentration=1))) < .99",
            _uncertain_images,
            long=True,
            note="we read 178 so; accuracy of the original labels of CIFAR-10: these labels are not here",
        ),
        Row(
            "figure 6",
            "top-3 accuracy of models A to D",
            "picture",
            "evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(3), medium, classifiers)",
            _of_classifiers,
            long=True,
            note="`raterzoo data fetch dermatology` brings their predictions, which were not at hand here",
        ),
        *(
            Row(figure, what, "picture", call, lambda ours=ours: ours)
            for figure, what, call, ours in (
                (
                    "figure 2",
                    "two kinds of uncertainty",
                    "models.simulators.ambiguous_items(centers=[-1, 0, 1], spread=1.0)",
                    "a simulator",
                ),
                (
                    "figure 5, left",
                    "plausibilities of a case",
                    'evaluation.plots.plausibility_strips(tree, items, point={"IRN": inference.irn(rankings)})',
                    "below",
                ),
                (
                    "figure 6",
                    "accuracy over reliability",
                    "evaluation.plots.reliability_sweep(evaluation.reliability_sweep(trees, metric, "
                    "classifiers))",
                    "[notebook](../../notebooks/evaluate_a_classifier.ipynb)",
                ),
                (
                    "figure 7",
                    "certainties of two models",
                    'evaluation.plots.certainty_scatter(certainty, of_prirn, labels=("Plackett-Luce", '
                    '"PrIRN"))',
                    "below",
                ),
                (
                    "figure 8",
                    "expected risk and its certainty",
                    "evaluation.plots.risk(sure, evaluation.expected_value(medium, value))",
                    "below",
                ),
                (
                    "figures A.9 to A.11",
                    "certainties on both sides of a threshold",
                    "evaluation.plots.threshold_certainty(evaluation.threshold_certainty(tree, threshold))",
                    "[notebook](../../notebooks/rating_scales.ipynb)",
                ),
                (
                    "figure E.14",
                    "certainty by agreement",
                    "evaluation.plots.certainty_agreement(papers.certainty_and_agreement(medium, rankings))",
                    "below",
                ),
                (
                    "figures E.15 to E.18",
                    "certainty by number of annotations",
                    "evaluation.plots.certainty_by_annotations(papers.certainty_and_agreement(medium, "
                    "rankings))",
                    "in the gallery",
                ),
            )
        ),
    ],
    [
        "**Predictions of models A to D are not here**: nothing that needs them is computed on this page. "
        "`raterzoo data fetch dermatology` brings them; then `python -m benchmarks.papers dermatology --long` fills their row.",
        "**Original labels of CIFAR-10 are not here**, so that their accuracy on the images of CIFAR-10H is not computed. "
        "Counts of CIFAR-10H (CC BY-NC-SA 4.0) are not passed on.",
        "Appendix B: the Gibbs update counts no last block, but adds all arrival times, which is "
        "the conditional of no model; ours is exact.",
        "Equation 3 divides the weight of tied categories; the authors' code does not: "
        '`tie_weight="full"` is theirs.',
        "The authors' code has one pseudo-category for all unranked conditions "
        '(`unranked="single"`); `"pooled"` is exact and ours.',
        "Appendix A speaks of a small Dirichlet concentration without a number; `concentration=1` "
        "is our default.",
    ],
    {
        "certainty.png": (
            "Certainty of 1,947 cases, sorted: six in ten conditions and four in ten risks are less "
            "certain than .99",
            _sorted,
        ),
        "strips.png": ("Figure 5, left: plausibilities of three published cases, and the IRN vote", _strips),
        "scatter.png": ("Figure 7: certainties under Plackett-Luce and under PrIRN", _scatter),
        "risk.png": ("Figure 8: expected risk of each case, and the certainty of its risk", _risks),
        "agreement.png": ("Figure E.14: certainty by the agreement of the readers", _agreeing),
    },
)
