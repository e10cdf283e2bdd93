"""Survey equivalence from labels and predictions, for the command and for the report."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from ..models import Labels
    from ..reports import Section
    from .study import Study

__all__ = ["beyond", "equivalence_part", "law_of", "natural", "picture_of", "worth"]

ADDITIVE = ("cross-entropy", "agreement", "brier")
OF_POSTERIOR = ("abc", "plurality")  # combiners
LONGEST = 50  # largest number of raters on the posterior's curve
LEAST = 2  # items with two labels or more


def equivalence_part(study: "Study") -> "list[Section]":
    """Return the section on survey equivalence; none without predictions or an item with two labels."""
    from ..evaluation import EvaluationError
    from ..models import Labels
    from ..reports import Section
    from ..reports.equivalence import TITLE, equivalence_sections

    data, predicted = study.data, study.predicted
    if predicted is None or not isinstance(data, Labels) or data.counts.sum(axis=1).max() < 2:
        return []
    rules = natural("category" not in predicted.dims, None, None, None)
    rules |= {"probability": 0.9, "random_seed": study.seed}
    try:
        found = worth(data, law_of(predicted, data), rules)
    except EvaluationError as problem:
        return [Section(TITLE, f"Not computed: {problem}.", key="equivalence")]
    return equivalence_sections(found, picture_of(found))


def natural(
    hard: bool, combiner: str | None, scorer: str | None, learn: str | None
) -> dict[str, Any]:
    """Return combiner, scorer and learning rule: those given, or defaults for hard or soft predictions."""
    by_label = hard or combiner == "plurality"
    scorer = scorer or ("agreement" if by_label else "cross-entropy")
    combiner = combiner or ("plurality" if scorer == "agreement" else "abc")
    if learn is None:
        learn = "leave-one-out" if scorer in ADDITIVE or combiner != "abc" else "in-sample"
    elif combiner != "abc":
        raise ValueError(f"--learn {learn}: only abc learns; leave it out, or take --combiner abc")
    if learn not in ("leave-one-out", "in-sample") and not learn.isdecimal():
        raise ValueError(f"--learn {learn}: write leave-one-out, in-sample, or a number of folds")
    learned = int(learn) if learn.isdecimal() else learn
    return {"combiner": combiner, "scorer": scorer.replace("-", "_"), "learn": learned}


def law_of(predicted: "xr.DataArray", data: "Labels") -> "xr.DataArray":
    """Return predicted probabilities (classifier, item, category); 1 for the first of a ranking.

    Items without labels are left out; the attribute ``unlabelled`` is their number.
    """
    import numpy as np

    from ..reports.metrics import ALONE

    if "classifier" not in predicted.dims:
        predicted = predicted.drop_vars("classifier", errors="ignore")
        predicted = predicted.expand_dims(classifier=[ALONE])
    known = np.isin(predicted["item"], data.items)
    _check_items(predicted["item"].to_numpy(), known, data)
    predicted = predicted.isel(item=known)
    if "category" in predicted.dims:
        law = predicted.reindex(category=data.categories)
        law = law.where(law > -np.inf, 0.0)  # -inf: no row in the table, so probability 0
        missing = (predicted == -np.inf).all("category")
    else:
        first = predicted.isel(position=0)
        law = (first.expand_dims(category=data.categories, axis=-1)) == data.categories
        law, missing = law.astype(float), first == ""
    _check_predicted(missing)
    return law.assign_attrs(unlabelled=int((~known).sum()))


def _check_items(predicted: Any, known: Any, data: "Labels") -> None:
    """Raise unless every labelled item is predicted."""
    import numpy as np

    from ..evaluation import EvaluationError
    from ..reports.words import few

    if not known.any():
        raise EvaluationError(
            f"predictions are of items {few(predicted.tolist(), 3)}, labels of {few(data.items.tolist(), 3)}: no item is in "
            "both; give items the same names in both tables"
        )
    if (lacking := ~np.isin(data.items, predicted)).any():
        raise EvaluationError(
            f"predictions: nothing is predicted for item {few(data.items[lacking].tolist())}, which raters labelled; predict it, "
            "or leave its labels out"
        )


def _check_predicted(missing: "xr.DataArray") -> None:
    """Raise if a classifier has no prediction for an item that another classifier predicts."""
    import numpy as np

    from ..evaluation import EvaluationError

    if not missing.any():
        return
    missing = missing.transpose("classifier", "item")
    classifier, item = np.argwhere(missing.to_numpy())[0]
    names = [missing[dim].to_numpy() for dim in ("classifier", "item")]
    raise EvaluationError(
        f"predictions: {names[0][classifier]} predicts nothing for item {names[1][item]}; add it, with the same score for each "
        "category where it knows nothing, or leave the item out of both tables"
    )


def worth(data: "Labels", law: "xr.DataArray", rules: dict[str, Any]) -> "xr.Dataset":
    """Return the survey equivalences, with notes on unusual data."""
    from ..evaluation import EvaluationError, survey_equivalence

    usable = int((data.counts.sum(axis=1) > 1).sum())
    if usable < LEAST:
        raise EvaluationError(
            f"labels: {('no', 'only one')[usable]} item has 2 labels or more; a label is predicted from others of its item, as "
            "other items teach; add labels"
        )
    found = survey_equivalence(data, law, **rules)
    notes = [found.attrs["note"], *_notes(data, law)]
    found.attrs["note"] = "; ".join(part for part in notes if part)
    return found


def _notes(data: "Labels", law: "xr.DataArray") -> list[str]:
    """Return notes on unused categories, unlabelled items, and raters who answered an item twice."""
    import numpy as np

    from ..reports.words import few

    said = []
    if never := data.categories[data.counts.sum(axis=0) == 0].tolist():
        said.append(
            f"no rater gave {few(never)}; that it counts as possible may lower the score of no labels"
        )
    if unlabelled := law.attrs.get("unlabelled", 0):
        said.append(f"{unlabelled:,} predicted items have no labels, and are left out")
    if not data.anonymous:
        pair = data.annotation_item * np.int64(len(data.raters)) + data.annotation_rater
        pair, place = np.unique(pair, return_inverse=True)
        again = np.unique(pair[np.bincount(place, data.count) > 1] % len(data.raters))
        if again.size:
            said.append(
                f"rater {few(data.raters[again].tolist())} answered items more than once; each answer counts as that of another "
                "rater"
            )
    return said


def beyond(
    data: "Labels", law: "xr.DataArray", rules: dict[str, Any], sampler: tuple[int, int]
) -> "tuple[xr.Dataset, bool, str]":
    """Fit item states; return the posterior equivalences, whether they converged, and the verdict.

    `rules` are those of the curve; `sampler` holds draws and chains.
    """
    import warnings

    import xarray as xr

    from .. import evaluation, inference, models

    chosen = {name: rules[name] for name in ("combiner", "scorer", "clip", "base", "random_seed")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is said anyway
        tree = inference.sample(
            models.item_states(data, plausibility=False),
            draws=sampler[0], chains=sampler[1], random_seed=rules["random_seed"], progressbar=False,
        )  # fmt: skip
    longest = LONGEST if rules["max_raters"] is None else rules["max_raters"]
    drawn = evaluation.survey_equivalence(tree, law, max_raters=longest, **chosen)
    judged = drawn[["power_curve", "asymptote", "score"]]
    diagnosis = inference.diagnose(xr.DataTree.from_dict({"posterior": judged}))
    summed = evaluation.survey_summary(drawn, probability=rules["probability"])
    return summed, bool(diagnosis.attrs["converged"]), str(diagnosis.attrs["verdict"])


def picture_of(found: "xr.Dataset") -> "Figure":
    """Return the figure of the power curve with the classifiers on it."""
    from ..evaluation import plots

    return plots.power_curve(found, backend="matplotlib").figure
