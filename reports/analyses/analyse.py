"""One call from a table to the answers: read, fit, evaluate."""

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from typing import Any, Literal

import xarray as xr

from ... import models
from ...inference.rater_priors import read_rater_prior
from ...models._catalog import annotation_kinds
from ...models.data.errors import DataError
from ...models.data.keys import KEY, with_key
from ...models.data.reading.read import read
from ...posterior.matching import match_items, with_complement
from ..composition import analysis_of, report_of
from ..predictions import read_predictions
from ..settings import Settings, people_of
from ..study import Joint, told_apart
from .analysis import Analysis
from .copies import refitted
from .drawing import draw
from .equivalence import compared, law_of, rules_of
from .judge import judged, panel_of, with_sample
from .labels import LabelAnalysis


def analyse(
    source: Any,
    kind: Literal["labels", "rankings", "comparisons", "scores", "judge", "equivalence"] | None = None,
    *,
    predictions: Any = None,
    model: str | None = None,
    tree: xr.DataTree | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    layout: str = "long",
    categories: Sequence[Any] | None = None,
    bounds: Sequence[float] | None = None,
    rater_attributes: Sequence[str] = (),
    missing: Literal["error", "drop"] = "error",
    no_answer: Sequence[Any] | str | int = (),
    levels: Sequence[Any] | None = None,
    tags: Sequence[str] | None = None,
    keep: Literal["all", "first", "last"] = "all",
    people_column: str | None = None,
    sample: Mapping[str, xr.DataArray] | None = None,
    sensitivity: bool = False,
    compare_to: Any = None,
    metrics: Sequence[str] = (),
    refit: bool = True,
    raters: Any = None,
    draws: int = 1000,
    chains: int = 4,
    random_seed: int = 1,
    progressbar: bool = True,
    **priors: Any,
) -> Analysis:
    """Analyse annotations: what is true or best, who can be trusted, whether to rely on it, and what to ask next.

    Parameters
    ----------
    source : path, frame or container
        Annotations: a file or frame that `raterzoo.read` reads, or what it returns.
    kind : {"labels", "rankings", "comparisons", "scores", "judge", "equivalence"}, optional
        Kind of annotation; by default the columns tell. "judge" asks of labels how good classifiers and judges, such as language
        models, are beside people; "equivalence" how many raters classifiers are worth.
    predictions : path, frame or DataArray, optional
        Of labels, rankings, judge and equivalence: predictions of classifiers, with columns item, category and perhaps score or
        rank, and classifier; or as `evaluation.predictions_from_table` returns them.
    model : str, optional
        Model of `models.catalog`; by default that of the command line, which takes raters of labels with one answer each as one.
    tree : DataTree, optional
        Posterior by `inference.sample`, which is then not drawn.
    columns, layout, categories, bounds, rater_attributes, missing, no_answer, levels, tags, keep
        As of `raterzoo.read`.
    people_column : str, optional
        Of judges: "kind=person" if the column ``kind`` of the answers says person of people; by default all raters are people.
    sample : mapping of str to DataArray, optional
        Of judges: how the items with people were chosen: arguments strata, clusters and sampling of `evaluation.rectified`.
    sensitivity : bool, default False
        Of judges: also fits in which judges and classifiers share errors, and do not.
    compare_to : optional
        Of judges: table of the answers of an earlier run, with some items of this one: did the judge change, see
        `evaluation.judge_change`?
    metrics : sequence of str, optional
        Of labels and rankings: metrics of the predictions, as of ``raterzoo evaluate --metric``; the first is in the answer.
    refit : bool, default True
        Of labels without `model`: whether raters who copy each other, by the checks, are fitted again as a group that shares a
        guess.
    raters : Dataset or path, optional
        Of labels: what earlier studies know of the raters, of `inference.rater_prior`, its file or that of a posterior. Raters
        who copy are then not fitted again.
    draws, chains, random_seed, progressbar
        As of `inference.sample`.
    **priors
        Further arguments of the model; of equivalence those of `evaluation.survey_equivalence`, calibrate=True for scores with
        calibration, and posterior=True for a curve beyond the observed raters.

    Returns
    -------
    Analysis
        Frames ``items``, ``raters``, ``checks``, ``next``, ``classifiers``, ``agreement``; ``answers``, which print; ``facts``;
        the posterior ``tree``; ``report(path)`` and ``write(folder)``.

    Raises
    ------
    DataError
        If the table is malformed, with row, column, value and remedy.
    ValueError
        If an argument does not belong to the kind of annotation, or the predictions do not fit it.

    Examples
    --------
    >>> import raterzoo
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(items=60, raters=5, answers=4, random_seed=1).data
    >>> analysis = raterzoo.analyse(labels, draws=250, chains=2, progressbar=False)
    >>> [answer.question for answer in analysis.answers]
    ['Are the categories a scale?', 'What is true?', 'Who can be trusted?', 'Can I rely on this?', 'What next?']
    >>> list(analysis.raters.columns)
    ['rater', 'answers', 'right', 'right_low', 'right_high', 'flag']

    A classifier and a language model beside people:

    >>> rows = labels.to_table()
    >>> rows["kind"] = ["llm" if rater == 4 else "person" for rater in rows["rater"]]
    >>> rows["rater"] = [f"r{rater}" for rater in rows["rater"]]
    >>> vote = labels.categories[labels.counts.argmax(axis=1)]
    >>> analysis = raterzoo.analyse(
    ...     rows, kind="judge", predictions={"item": labels.items, "category": vote}, people_column="kind=person",
    ...     draws=250, chains=2, progressbar=False,
    ... )
    >>> sorted(set(analysis.raters["role"]))
    ['classifier', 'judge', 'person']
    """
    people = people_of(people_column)
    judges = {"people_column": people_column, "sample": sample, "sensitivity": sensitivity or None}
    judges["compare_to"] = compare_to
    beside = kind in ("judge", "equivalence")
    unused = {"tree": tree, "metrics": metrics or None} if beside else {}
    unused |= {"model": model} if kind == "equivalence" else {}
    unused |= judges if kind != "judge" else {}
    unused |= {"raters": raters} if beside else {}
    if strange := [argument for argument, value in unused.items() if value is not None]:
        raise ValueError(f"{strange[0]}: no argument for {kind or 'annotations without kind='}; leave it out")
    given: dict[str, Any] = {"columns": columns, "layout": layout, "categories": categories, "bounds": bounds}
    given["rater_attributes"] = [*dict.fromkeys([*rater_attributes, *(people or ())[:1]])]
    given |= {"missing": missing, "no_answer": no_answer, "keep": keep, "levels": levels, "tags": tags}
    data, found = _read(source, "labels" if beside else kind, given)
    fit = partial(draw, draws=draws, chains=chains, random_seed=random_seed, progressbar=progressbar)
    if beside and predictions is None:
        raise ValueError(
            f"predictions: kind={kind!r} compares classifiers with people; give their predictions"
        )
    read_so = partial(read_predictions, predictions, missing=missing)
    if kind == "equivalence":
        calibrate, posterior = (bool(priors.pop(name, False)) for name in ("calibrate", "posterior"))
        law, hard = law_of(read_so(), data)
        rules = rules_of(hard and not calibrate, {"random_seed": random_seed, **priors}, posterior=posterior)
        beyond = fit if posterior else None
        return compared(data, law, rules, calibrate=calibrate, draw=beyond, compose=report_of)
    if kind == "judge":
        name = _model_of("labels", model or _default_model("labels", data))
        panel = panel_of(data, read_so(), people, priors)
        panel = panel if sample is None else with_sample(panel, sample)
        settings = Settings("labels", name, (1.0,), draws, chains, random_seed, priors=priors)
        of_judges = partial(fit, log_likelihood=False)
        old = None if compare_to is None else _read(compare_to, "labels", given)[0]
        return judged(panel, settings, of_judges, sensitivity=sensitivity, old=old, compose=report_of)
    if predictions is not None and found not in ("labels", "rankings"):
        raise ValueError(
            f"predictions: an argument for labels and rankings, not for {found}; evaluation has functions for them"
        )
    drawn = tree.attrs["model"] if tree is not None else _default_model(found, data)
    name = _model_of(found, model or drawn)
    if model is None and tree is None and raters is None and not priors:
        data = told_apart(data)
    if found == "comparisons" and len(data.raters) < 2:
        priors = {"reliability": "shared"} | priors
    if models.catalog[name].needs_order:
        priors = {"order": data.categories} | priors
    if priors.get(KEY) is not None:  # one more rater, of whom the answers speak as of the others
        data = with_key(data, priors.pop(KEY))
        priors["key_makers"] = (*priors.get("key_makers", ()), data.raters[-1].item())
    build = getattr(models, name)
    built, told = None, priors
    if raters is not None:
        priors, told = with_raters(raters, found, priors)
    if tree is None:
        built = build(data, **priors)
        tree = fit(built)
    sizes = tree["posterior"].sizes
    settings = Settings(found, name, (1.0,), sizes["draw"], sizes["chain"], random_seed, priors=told)
    predicted = joint = None
    if predictions is not None:
        predicted = with_complement(read_so(), data.categories)
        match_items(data.items, predicted["item"].to_numpy())
        joint = _joint(data, predicted, lambda seen: build(seen, **priors), fit, name)
    analysis = analysis_of(data, {1.0: tree}, built, settings, predicted, metrics=metrics, joint=joint)
    if isinstance(analysis, LabelAnalysis) and refit and model is None and raters is None:
        return refitted(analysis, fit)
    return analysis


def with_raters(raters: Any, kind: str, priors: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of the model with a prior of raters, which is read, and these as the page says them."""
    if kind != "labels":
        raise ValueError(f"raters: an argument for labels, not for {kind}; leave it out")
    from_file = isinstance(raters, str | PathLike)
    prior = read_rater_prior(raters) if from_file else raters
    return {**priors, "raters": prior}, {**priors, "raters": fspath(raters) if from_file else "known"}


def _read(source: Any, kind: str | None, options: Mapping[str, Any]) -> tuple[Any, str]:
    """Return a container of annotations, read unless it is one, and their kind."""
    kinds = {own: getattr(models, annotation_kinds[own].container) for own in annotation_kinds}
    data = source if isinstance(source, tuple(kinds.values())) else read(source, kind, **options)
    (found,) = (own for own, container in kinds.items() if isinstance(data, container))
    if kind is not None and kind != found:
        raise ValueError(f"kind={kind!r}: these are {found}; leave kind out")
    return data, found


def _model_of(kind: str, name: str) -> str:
    """Return the name of a model, or raise if it is none of this kind of annotation."""
    if name not in models.catalog or models.catalog[name].data != kind:
        own = sorted(entry.name for entry in models.catalog.values() if entry.data == kind)
        raise ValueError(f"model={name!r} is no model of {kind}; choose one of {', '.join(own)}")
    return name


def _default_model(kind: str, data: Any) -> str:
    """Return the model of a kind of annotation, as on the command line."""
    own = annotation_kinds[kind]
    of_tags = own.default_of_tags if getattr(data, "tags", []) else None
    return (getattr(data, "anonymous", False) and own.default_of_anonymous) or of_tags or own.default_model


def _joint(data: Any, predicted: xr.DataArray, build: Any, fit: Any, name: str) -> Joint:
    """Return the posterior that has seen the predictions as answers of further raters, or why there is none."""
    if models.catalog[name].raters_alike:
        return Joint(None, why_not=f"{name} takes all raters as alike")
    try:
        seen = data.with_predictions(predicted)
    except DataError as error:
        return Joint(None, why_not=str(error))
    model = build(seen)
    return Joint(fit(model), model)
