"""Schema of a posterior tree: its groups, dims, attributes, versions and raters."""

import json
import platform
from collections.abc import Hashable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

SAMPLE = ("chain", "draw")
SUMMARISED = "item_summary"  # group of summaries of the items, where their draws are not all kept
SHARED = "shared_posterior"  # group of all draws of what items share, beside thinned ones in the posterior
OF_ITEMS = ("item", "candidate")  # dims of the variables of items
OTHER = "OTHER"  # pool of the categories that no rater of an item ranked
# variables of the constant data with the attributes of raters; no coordinates of the posterior, as `arviz.summary` refuses a
# posterior of which some variables lack a coordinate
RATER_PREFIX = "rater_"
CLASSIFIER = "classifier"  # value of the attribute of raters whose answers are predictions
JUDGE, VERSION = "judge", "version"  # attributes of raters by `two_runs`
VERSIONS = ("old", "new")  # values of the second
# constant data of a posterior whose prior has seen the probabilities of a classifier, and attribute with the name of that
SEEN_IN_PRIOR = "prior_predictions"
# variable of posteriors that are cut: their log likelihood does not depend on it
CORRELATION = "vote_correlation"
# of labels in time: p(right) by window, scale of a step in log odds, steps in units of it
SKILL, SKILL_STEP, SKILL_CHANGE = "skill", "skill_step", "skill_change"
INDEPENDENT = "independent_plausibility"  # of such a posterior: the truth if votes were independent
OF_INDEPENDENT = (
    "that of independent answers: arviz.loo and arviz.compare are those of the model without vote_correlation; compare claims "
    "by evaluation.log_score of known truth"
)
ALONE = "predictions"  # name of predictions without one, as Labels.with_predictions calls it
# what the reliability in the constant data is, by the attribute `model` of the tree: the power of the likelihood of an
# annotation, the exponent of the worths, or the narrowness of a prior without likelihood
RELIABILITY = {
    "plackett_luce": "power",
    "dirichlet": "power",
    "tempered_plackett_luce": "exponent",
    "prirn": "narrowness",
}
# what the plausibility of a draw may be, by the attribute ``truth`` of the variable; of trees of 0.1 the last
TRUTHS = {"category": "category", "distribution": "distribution", "plausibility": "distribution"}
# truth by the dims of the observed labels of a model of this package
OBSERVED: dict[tuple[Hashable, ...], str] = {
    ("annotation",): "category",
    ("item", "category"): "distribution",
}
DRAWS_NOT_KEPT = (
    "the posterior keeps a summary of the {} of each item and no draws of it, which this needs; fit again with "
    'keep="thinned", which keeps hundreds of draws, or keep="all" (--keep on the command line)'
)
ASK_TRUTH = (
    'the posterior does not say what the plausibility of a draw is. "category": the probability of each category to be the one '
    'true one, given the parameters of the draw, as in Dawid-Skene. "distribution": the distribution of the labels that raters '
    "give, itself unknown, as in a Dirichlet model"
)


def truth_by_model(tree: "xr.DataTree", plausibility: "xr.DataArray") -> str | None:
    """Return what a plausibility is, if the tree is of a model of this package; None for any other."""
    observed = tree["observed_data"] if "observed_data" in tree.children else {}
    if "observed_label" in observed and observed["observed_label"].dims in OBSERVED:
        return OBSERVED[observed["observed_label"].dims]
    ranked = "candidate" in plausibility.dims or "observed_ranking" in observed
    return "distribution" if ranked else None


def classifier_in_prior(tree: "xr.DataTree") -> str | None:
    """Return the name of the classifier whose probabilities are in the prior of a posterior, None if there is none."""
    name = tree["posterior"].attrs.get(SEEN_IN_PRIOR) if "posterior" in tree.children else None
    if name is None and "constant_data" in tree.children and SEEN_IN_PRIOR in tree["constant_data"]:
        coords = tree["constant_data"][SEEN_IN_PRIOR].coords
        name = coords["classifier"].to_numpy()[0] if "classifier" in coords else ALONE
    return None if name is None else str(name)


SCHEMA_VERSION = 2  # attribute `schema_version`; 1 named the dim `answer` `label`
PACKAGES = ("raterzoo", "pymc", "pytensor", "arviz", "numba", "numpy", "xarray")


def versions_of_now() -> dict[str, str]:
    """Installed versions of Python and of the packages that draws depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def other_versions(attrs: Mapping[str, Any]) -> str:
    """Text such as "numba 0.65.0 (now 0.66.0)" on the packages whose version changed since the run; empty if none."""
    begun, now = json.loads(attrs["versions"]), versions_of_now()
    differ = [name for name in begun if begun[name] != now.get(name)]
    return ", ".join(f"{name} {begun[name]} (now {now.get(name, 'none')})" for name in differ)


def check_schema(path: object, attrs: Mapping[str, Any]) -> None:
    """Raise unless the schema of a file at `path` with these root `attrs` is read here; other programs' have none, and pass."""
    version = attrs.get("schema_version", SCHEMA_VERSION)
    known = isinstance(version, int | np.integer) and 1 <= version <= SCHEMA_VERSION
    if not known:
        raise ValueError(
            f"{path} has schema_version {str(version)[:20]}; this version of raterzoo reads {SCHEMA_VERSION}: "
            "install the newer one that wrote the file"
        )


def with_current_dims(tree: "xr.DataTree") -> "xr.DataTree":
    """Rename the dim ``label`` of trees of version 0.1 to ``answer``, its name since."""
    if not any("label" in node.dims and "category" in node.dims for node in tree.subtree):
        return tree
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    renamed = {n: g.rename(label="answer") if "label" in g.dims else g for n, g in groups.items()}
    result = type(tree).from_dict(renamed)
    result.attrs = dict(tree.attrs)
    return result


def reliability_is(attrs: Mapping[Any, Any]) -> str | None:
    """Role of the reliability in a tree with these root `attrs`, a value of `RELIABILITY`; None if unknown."""
    return RELIABILITY.get(str(attrs.get("model")))


# --- Raters of a posterior: their attributes, such as their kind, and their answers ---


def posterior_with_attributes(tree: "xr.DataTree") -> "xr.Dataset":
    """Return the posterior with the attributes of its raters as coordinates along ``rater``, without the prefix."""
    import xarray as xr  # not by readers of annotations, which this module serves too

    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    if "constant_data" not in tree.children or "rater" not in posterior.dims:
        return posterior
    return posterior.assign_coords(
        {
            str(name).removeprefix(RATER_PREFIX): ("rater", values.to_numpy())
            for name, values in tree["constant_data"].data_vars.items()
            if str(name).startswith(RATER_PREFIX) and values.dims == ("rater",)
        }
    )


def are_classifiers(attributes: Mapping[str, np.ndarray], n_raters: int) -> np.ndarray:
    """Whether some attribute of each rater (rater,) says "classifier"."""
    found = np.zeros(n_raters, bool)
    for values in attributes.values():
        found |= values.astype(str) == CLASSIFIER
    return found


def classifiers_of(posterior: "xr.Dataset") -> list[object]:
    """Return the raters of a posterior with attributes who are classifiers."""
    raters = posterior["rater"].to_numpy()
    attributes = {
        str(name): values.to_numpy()
        for name, values in posterior.coords.items()
        if name != "rater" and values.dims == ("rater",)
    }
    return raters[are_classifiers(attributes, len(raters))].tolist()


class SeenAnswers(NamedTuple):
    """Answers of the raters in a tree."""

    raters: list[object]  # ids
    classifiers: list[object]  # of these, whose attribute says so
    item: np.ndarray  # (answer,), codes
    rater: np.ndarray  # (answer,), codes
    label: np.ndarray  # (answer,), codes


def answers_of(tree: "xr.DataTree") -> SeenAnswers | None:
    """Return the answers that a tree of a model of labels holds, or None if it does not name their raters."""
    if not {"observed_data", "constant_data"} <= {*tree.children}:
        return None
    posterior = posterior_with_attributes(tree)
    constant, observed = (tree[group].to_dataset() for group in ("constant_data", "observed_data"))
    if (
        "rater" not in posterior.coords
        or "observed_label" not in observed
        or "annotation_rater" not in constant
    ):
        return None
    codes = observed["observed_label"], constant["annotation_item"], constant["annotation_rater"]
    if {own.dims for own in codes} != {codes[0].dims} or codes[0].ndim != 1:
        return None
    label, item, rater = (own.to_numpy().astype(np.int64) for own in codes)
    raters = posterior["rater"].to_numpy().tolist()
    return SeenAnswers(raters, classifiers_of(posterior), item, rater, label)
