"""Plan of a study of labels: how many items and answers, so that the accuracy of a classifier is known well enough.

Before there are data, a design of N items with K people each is tried on simulated studies. In each,

    prevalence p, confusion pi    a draw of the pilot's posterior, or of stated skills
    T_i ~ p,   y_ik ~ pi_k(T_i, .),   f_i ~ pi_f(T_i, .)
    a = sum_t p_t pi_f(t, t)      accuracy of the classifier f in the population of items

and answers and predictions are fitted together, as those of the study will be. The draws of the accuracy are

    a_s = sum_i g_si 1[T_si = f_i] / sum_i g_si,    T_si ~ p(T_i | draw s, all answers),  g_si ~ Exponential(1),

as those of `evaluation.metric_intervals` with ``source="both"``, by a posterior of `Labels.with_predictions`. The assurance of a
design is the share of the simulated studies that meet the aim.

References
----------
O'Hagan and Stevens (2001), Bayesian assessment of sample size for clinical trials of cost-effectiveness, Medical Decision
Making 21(3), 219-230, doi:10.1177/0272989X0102100307.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr

from ..._messages import compiled_step, first_reprs, short_repr
from ...models._catalog import catalog
from ...models.data.labels import Labels
from ...models.distributions.marginal_labels_kernels import Answers, answer_codes
from ...models.labels.dawid_skene import dawid_skene
from ...models.labels.population import POPULATION
from ...posterior.prior_of_items import shares_of_categories
from ...posterior.schema import CLASSIFIER, classifiers_of, posterior_with_attributes, with_current_dims
from ..labels.gibbs import draw_labels_model
from ..labels.kernels.gibbs import ConfusionPrior
from ..labels.recognition import constant_prior, read_labels
from ..runs.model_graph import NotConjugate
from ..runs.run import ChainPlan, check_whole

SWEEPS_BEFORE, DRAWS = 100, 300  # of the chain of each simulated study
STATED, STATED_DRAWS = "stated skills", 2000
Skill = float | tuple[float, float]
BY_POPULATION = partial(dawid_skene, confusion_concentration=POPULATION)


@dataclass(frozen=True)
class Precision:
    """Aim of a plan: an interval of the accuracy that is at most so wide.

    Parameters
    ----------
    width : float
        Largest width, such as .05, in (0, 1); of several classifiers that of the widest interval.
    probability : float, default .9
        Probability of the equal-tailed interval.

    Examples
    --------
    >>> from raterzoo.inference.design import Precision
    >>> Precision(width=0.05)
    Precision(width=0.05, probability=0.9)
    """

    width: float
    probability: float = 0.9

    def __post_init__(self) -> None:
        _check_share("width", self.width)
        _check_share("probability", self.probability)


@dataclass(frozen=True)
class Decision:
    """Aim of a plan: to find the better one of two classifiers.

    Parameters
    ----------
    probability : float, default .95
        Posterior probability at which one is called better, in (.5, 1).

    Examples
    --------
    >>> from raterzoo.inference.design import Decision
    >>> Decision(probability=0.99)
    Decision(probability=0.99)
    """

    probability: float = 0.95

    def __post_init__(self) -> None:
        if not 0.5 < _check_share("probability", self.probability):
            raise ValueError(f"probability={self.probability!r} must be above .5")


@dataclass(frozen=True)
class Prices:
    """What a study costs, in any one unit, none negative.

    Parameters
    ----------
    answer : float, default 1
        Of each answer of a person.
    item : float, default 0
        Of each item that people answer.
    prediction : float, default 0
        Of each item that classifiers alone answer.

    Examples
    --------
    >>> from raterzoo.inference.design import Prices
    >>> Prices(answer=0.5, item=2).of(items=100, raters=3, alone=0)
    350.0
    """

    answer: float = 1.0
    item: float = 0.0
    prediction: float = 0.0

    def __post_init__(self) -> None:
        for name in ("answer", "item", "prediction"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ValueError(f"price: {name}={value!r} must be a number from 0")

    def of(self, items: int, raters: int, alone: int) -> float:
        """Return the price of a design."""
        return items * (self.item + raters * self.answer) + alone * self.prediction


def stated_skills(
    people: Skill | Mapping[Any, Skill],
    classifiers: Mapping[Any, Skill],
    *,
    pool: int = 10,
    prevalence: Sequence[float] | int = 2,
    random_seed: int | np.random.Generator | None = None,
) -> xr.DataTree:
    """Return skills of people and classifiers as draws, in place of the posterior of a pilot.

    A skill is the probability of the right answer, or a pair, its mean and standard deviation, of a Beta distribution;
    wrong answers are equally probable.

    Parameters
    ----------
    people : float, pair of float, or mapping of name to these
        Skill of the people, each drawn for himself; or of each of them by name.
    classifiers : mapping of name to float or pair of float
        Skill of each classifier.
    pool : int, default 10
        Number of people, unless they are named.
    prevalence : sequence of float, or int, default 2
        Prevalence of each category, or the number of equally frequent ones.
    random_seed : int or numpy.random.Generator, optional
        Seed of the draws.

    Returns
    -------
    DataTree
        Group posterior with ``prevalence`` (chain, draw, category) and ``confusion`` (chain, draw, rater, category,
        answer); the coord ``kind`` of the raters is "person" or "classifier".

    Raises
    ------
    ValueError
        If a skill is no probability, or its standard deviation is too large for one.

    Examples
    --------
    >>> from raterzoo import inference
    >>> skills = inference.design.stated_skills((0.8, 0.05), {"model": 0.9}, pool=3, random_seed=1)
    >>> skills["posterior"]["rater"].values.tolist()
    ['person 1', 'person 2', 'person 3', 'model']
    """
    rng = np.random.default_rng(random_seed)
    share = (
        np.full(prevalence, 1 / prevalence) if isinstance(prevalence, int) else np.asarray(prevalence, float)
    )
    if (
        share.ndim != 1
        or len(share) < 2
        or (share < 0).any()
        or not math.isclose(share.sum(), 1, abs_tol=1e-6)
    ):
        raise ValueError(
            f"prevalence={short_repr(prevalence)} must be at least two shares that sum to one, or the number of categories"
        )
    check_whole("pool", pool)
    named = people if isinstance(people, Mapping) else {f"person {k + 1}": people for k in range(pool)}
    if both := [name for name in named if name in classifiers]:
        raise ValueError(
            f"{first_reprs(both)} is the name of a person and of a classifier; give each its own"
        )
    skills = [*named.items(), *classifiers.items()]
    right = np.stack([_drawn_skill(name, skill, rng) for name, skill in skills], axis=1)
    n = len(share)
    other = ((1 - right) / (n - 1))[..., None, None]
    confusion = np.where(np.eye(n, dtype=bool), right[..., None, None], other)
    posterior = xr.Dataset(
        {
            "prevalence": (("chain", "draw", "category"), np.tile(share, (1, len(right), 1))),
            "confusion": (("chain", "draw", "rater", "category", "answer"), confusion[None]),
        },
        {
            "rater": [name for name, _ in skills],
            "kind": ("rater", ["person"] * len(named) + [CLASSIFIER] * len(classifiers)),
            "category": np.arange(n),
            "answer": np.arange(n),
        },
    )
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs={"model": STATED}), "posterior": posterior})


def plan(
    aim: Precision | Decision,
    pilot: xr.DataTree,
    *,
    items: Sequence[int],
    raters: Sequence[int],
    alone: Sequence[int] = (0,),
    price: Prices | float = 1.0,
    classifiers: Sequence[Any] | None = None,
    pool: int | None = None,
    assurance: float = 0.9,
    simulations: int = 200,
    model: Callable[[Labels], pm.Model] = BY_POPULATION,
    random_seed: int | None = None,
    cores: int | None = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Simulate studies of different sizes, and name the cheapest one that reaches an aim.

    Parameters
    ----------
    aim : Precision or Decision
        An interval of the accuracy against the truth of at most a width, or the better one of two classifiers.
    pilot : DataTree
        Posterior of people and classifiers, by a model of labels with independent errors that has seen the
        predictions (`Labels.with_predictions`); or `stated_skills`.
    items : sequence of int
        Numbers of items that people answer, each from 1.
    raters : sequence of int
        Numbers of different people who answer each item.
    alone : sequence of int, default (0,)
        Numbers of further items that the classifiers alone answer.
    price : Prices or float, default 1
        Prices; a number is that of each answer of a person.
    classifiers : sequence of rater ids, optional
        Raters of the pilot that are classifiers; by default those whose attribute says so.
    pool : int, optional
        Number of other people than the pilot's in the study, each as able as one of these at random. By default the same.
    assurance : float, default .9
        Share of the studies that are to reach the aim.
    simulations : int, default 200
        Simulated studies of each design.
    model : callable, default `models.dawid_skene` whose prior is learnt from all raters
        Builder of the model that will be fitted; one that has a closed Gibbs sampler of labels: `dawid_skene`, `one_coin`,
        `class_conditional` or `mace`, with any of their priors. By default the prior of the confusion matrices is that of
        `models.correlated_votes`, ``confusion_concentration="population"``.
    random_seed : int, optional
        Seed of the simulations.
    cores : int, optional
        Threads; by default all cores.
    progressbar : bool, default True
        Whether to show progress.

    Returns
    -------
    Dataset
        Over ``items``, ``raters`` and ``alone``: ``width``, the mean width of the interval (of the widest of several), or
        ``right`` and ``wrong``, the shares of studies that call the better and the worse one better; ``assurance``, the share
        of studies that reach the aim; ``width_mcse`` and ``assurance_mcse``, Monte Carlo errors; ``coverage`` (also
        over classifier), the share of the intervals that hold the simulated accuracy; ``cost``; ``meets``, whether the
        assurance is as asked. Attribute ``verdict``: the cheapest design that meets the aim, in words.

    Raises
    ------
    ValueError
        If the pilot lacks people, classifiers or a confusion matrix of each; its model has raters who share
        errors, or items that differ; there are fewer people than answers to an item; or a number is out of range.

    Notes
    -----
    The answers of the pilot itself are not counted in. Errors are simulated as independent given the category, as the
    pilot's model has it: where `evaluation.model_checks` finds that they are not, studies are less precise than planned.

    Examples
    --------
    >>> from raterzoo import inference
    >>> skills = inference.design.stated_skills((0.8, 0.05), {"model": (0.85, 0.05)}, random_seed=1)
    >>> aim = inference.design.Precision(width=0.12)
    >>> found = inference.design.plan(aim, skills, items=[100, 400], raters=[3], simulations=20, random_seed=1)
    >>> bool(found["width"].sel(items=400) < found["width"].sel(items=100))
    True
    """
    grid = {"items": _sizes("items", items, 1), "raters": _sizes("raters", raters, 1)}
    grid["alone"] = _sizes("alone", alone, 0)
    prices = price if isinstance(price, Prices) else Prices(price)
    _check_share("assurance", assurance)
    check_whole("simulations", simulations, 2)
    skills = _Skills.of(pilot, classifiers, pool)
    if isinstance(aim, Decision) and len(skills.classifiers) != 2:
        raise ValueError(
            "a Decision is between two classifiers; the pilot has "
            f"{len(skills.classifiers)}: {first_reprs(skills.classifiers)}. Name two in classifiers="
        )
    if max(grid["raters"]) > skills.people:
        raise ValueError(
            f"raters={max(grid['raters'])}: each item would need so many different people, and there are {skills.people}; "
            "pass pool= for more people like them"
        )
    prior = _prior_of(model, skills)
    seed = int(np.random.SeedSequence().generate_state(1)[0] if random_seed is None else random_seed)
    designs = [Design(*sizes) for sizes in product(*grid.values())]
    found = np.empty((len(designs), simulations), object)
    with compiled_step("Simulating studies", len(designs) * simulations, shown=progressbar) as shown:

        def run(place: tuple[int, int]) -> None:
            design = designs[place[0]]
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*design, place[1])))
            found[place] = _study(design, skills, prior, aim, rng)
            shown.advance()

        with ThreadPoolExecutor(cores or os.cpu_count()) as threads:
            list(threads.map(run, np.ndindex(found.shape)))
    return _summary(aim, grid, found, assurance, prices, skills.classifiers)


class Design(NamedTuple):
    """Size of a study."""

    items: int
    raters: int
    alone: int


class Study(NamedTuple):
    """What the interval of a simulated study is worth."""

    width: float  # of the widest interval
    better: float  # posterior probability that the better one of two classifiers is better
    covered: np.ndarray  # bool (classifier,)


@dataclass(frozen=True)
class _Skills:
    """Draws of prevalence and confusion, from which studies are simulated."""

    prevalence: np.ndarray  # (draw, category)
    confusion: np.ndarray  # (draw, rater, category, answer), people before classifiers
    pool: int | None  # number of people of the study, if they are others
    known: int  # number of people of the pilot
    classifiers: list[Any]

    @property
    def people(self) -> int:
        """Number of people of the study."""
        return self.known if self.pool is None else self.pool

    @classmethod
    def of(cls, pilot: xr.DataTree, classifiers: Sequence[Any] | None, pool: int | None) -> "_Skills":
        """Read the posterior of a pilot; raise where it does not say what raters answer."""
        tree = with_current_dims(pilot)
        posterior = posterior_with_attributes(tree)
        law = str(tree.attrs.get("model"))
        if law in catalog and (catalog[law].raters_alike or catalog[law].shared_errors != "independent"):
            raise ValueError(
                f"the pilot is of {law}, by which raters are alike, share errors or meet items that differ, and studies are "
                "simulated with raters who err independently; fit dawid_skene to it, or pass stated_skills"
            )
        dims = {*posterior["confusion"].dims} if "confusion" in posterior else set()
        if "prevalence" not in posterior or not {"rater", "category", "answer"} <= dims:
            raise ValueError(
                "the pilot has no prevalence and confusion (rater, category, answer); fit dawid_skene to labels of named raters "
                "with their predictions, or pass stated_skills"
            )
        names = posterior["rater"].to_numpy().tolist()
        own = classifiers_of(posterior) if classifiers is None else [*classifiers]
        if unknown := [name for name in own if name not in names]:
            raise ValueError(
                f"classifiers: {first_reprs(unknown)} is no rater of the pilot: {first_reprs(names)}"
            )
        people = [place for place, name in enumerate(names) if name not in own]
        if not own or not people:
            lacking = "people" if own else "classifiers"
            raise ValueError(
                f"the pilot has no {lacking}; its raters are {first_reprs(names)}. Fit labels.with_predictions(predictions), or "
                "name the raters that are classifiers in classifiers="
            )
        if pool is not None:
            check_whole("pool", pool)
        drawn = posterior["confusion"].transpose("chain", "draw", "rater", "category", "answer").to_numpy()
        drawn = drawn.reshape(-1, *drawn.shape[2:])[:, [*people, *map(names.index, own)]].astype(float)
        share = shares_of_categories(
            tree, posterior["prevalence"].transpose("chain", "draw", "category")
        ).to_numpy()
        share = share.reshape(-1, share.shape[-1]).astype(float)
        return cls(
            share / share.sum(axis=-1, keepdims=True),
            drawn / drawn.sum(axis=-1, keepdims=True),
            pool,
            len(people),
            own,
        )

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw prevalence (category,) and confusion (rater, category, answer) of a study."""
        s = rng.integers(len(self.prevalence))
        share, matrices = self.prevalence[s], self.confusion[s]
        if self.pool is None:
            return share, matrices
        like = rng.integers(self.known, size=self.pool)
        return share, np.concatenate([matrices[like], matrices[self.known :]])


def _prior_of(model: Callable[[Labels], pm.Model], skills: _Skills) -> ConfusionPrior:
    """Return the priors of the model that is to be fitted."""
    n, machines = skills.prevalence.shape[1], len(skills.classifiers)
    names = [f"rater {k}" for k in range(skills.people + machines)]
    kind = ["person"] * skills.people + [CLASSIFIER] * machines
    rows = {"item": np.repeat([0, 1], len(names)), "rater": names * 2, "label": np.zeros(2 * len(names), int)}
    labels = Labels.from_table(rows | {"kind": kind * 2}, categories=range(n), rater_attributes=["kind"])
    built = model(labels)
    try:
        return constant_prior(built, read_labels(built))
    except NotConjugate as reason:
        raise ValueError(
            f"model: {reason}; pass a model of labels with a Gibbs sampler of its own, such as models.dawid_skene"
        ) from None


def _study(
    design: Design,
    skills: _Skills,
    prior: ConfusionPrior,
    aim: Precision | Decision,
    rng: np.random.Generator,
) -> Study:
    """Simulate a study, fit it, and look at the accuracies."""
    share, matrices = skills.draw(rng)
    people, machines = skills.people, len(skills.classifiers)
    n, all_items = len(share), design.items + design.alone
    truth = _categories(np.broadcast_to(share, (all_items, n)), rng)
    asked = rng.random((design.items, people)).argpartition(design.raters - 1, axis=1)[:, : design.raters]
    judges = np.broadcast_to(np.arange(people, people + machines), (all_items, machines))
    own = _categories(matrices[asked, truth[: design.items, None]], rng)
    predicted = _categories(matrices[judges, truth[:, None]], rng)
    # answers item by item, first those with people
    with_people = slice(0, design.items)
    rater = [np.concatenate([asked, judges[with_people]], axis=1).ravel(), judges[design.items :].ravel()]
    label = [np.concatenate([own, predicted[with_people]], axis=1).ravel(), predicted[design.items :].ravel()]
    count = np.repeat([design.raters + machines, machines], [design.items, design.alone])
    answers = Answers(
        np.r_[0, np.cumsum(count)].astype(np.int64),
        answer_codes(np.concatenate(rater), np.concatenate(label), n),
        np.full(all_items, -1, np.int64),
    )
    chain = ChainPlan(1, DRAWS, SWEEPS_BEFORE, int(rng.integers(2**32)), 1)
    # plain sweeps: half the time of collapsed ones, and the accuracy mixes as well
    plausibility = draw_labels_model(answers, prior, chain, collapsed=False).plausibility[0]
    accuracy = _accuracies(plausibility, predicted, rng)
    true = (share * np.diagonal(matrices[people:], axis1=1, axis2=2)).sum(axis=1)
    probability = aim.probability if isinstance(aim, Precision) else 0.9
    # of few draws, the default method's quantiles lie too near each other
    ends = [(1 - probability) / 2, (1 + probability) / 2]
    lower, upper = np.quantile(accuracy, ends, axis=1, method="weibull")
    better = math.nan
    if machines == 2:
        first, second = accuracy if true[0] > true[1] else accuracy[::-1]
        better = float(np.mean(first > second) + np.mean(first == second) / 2)
    return Study(float((upper - lower).max()), better, (lower <= true) & (true <= upper))


def _accuracies(plausibility: np.ndarray, predicted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw accuracies (classifier, draw), by plausibility (draw, item, category) and predicted (item, classifier)."""
    truth = _categories(plausibility, rng)
    weight = rng.standard_exponential(truth.shape)
    total = weight.sum(axis=1)
    return np.stack([(weight * (truth == own)).sum(axis=1) / total for own in predicted.T])


def _categories(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw categories (...) from probabilities (..., category)."""
    below = probability[..., :-1].cumsum(axis=-1)
    return (rng.random((*probability.shape[:-1], 1)) >= below).sum(axis=-1)


def _summary(
    aim: Precision | Decision,
    grid: Mapping[str, list[int]],
    found: np.ndarray,
    assurance: float,
    prices: Prices,
    classifiers: list[Any],
) -> xr.Dataset:
    """Return means over the simulations, and the cheapest design."""
    shape, simulations = tuple(map(len, grid.values())), found.shape[1]
    dims = tuple(grid)

    def of(values: np.ndarray) -> tuple[Any, np.ndarray]:
        return dims, values.reshape(shape)

    width = np.array([[own.width for own in row] for row in found])
    better = np.array([[own.better for own in row] for row in found])
    reached = width <= aim.width if isinstance(aim, Precision) else better >= aim.probability
    share = reached.mean(axis=1)
    cost = np.array([prices.of(*sizes) for sizes in product(*grid.values())])
    answers = np.array([sizes[0] * sizes[1] for sizes in product(*grid.values())])
    variables: dict[str, Any] = {
        "width": of(width.mean(axis=1)),
        "width_mcse": of(width.std(axis=1, ddof=1) / math.sqrt(simulations)),
    }
    if isinstance(aim, Decision):
        variables |= {"right": of(share), "wrong": of((better <= 1 - aim.probability).mean(axis=1))}
    covered = np.array([[own.covered for own in row] for row in found]).mean(axis=1)
    # of a share of all or none, the error of one simulation more that is not
    spread = np.clip(share, 0.5 / simulations, 1 - 0.5 / simulations)
    variables |= {
        "assurance": of(share),
        "assurance_mcse": of(np.sqrt(spread * (1 - spread) / simulations)),
        "coverage": ((*dims, "classifier"), covered.reshape(*shape, -1)),
        "cost": of(cost),
        "meets": of(share >= assurance),
    }
    result = xr.Dataset(variables, {**grid, "classifier": classifiers})
    result.attrs = {"simulations": simulations, "assurance": assurance, "aim": _in_words(aim)}
    result.attrs["verdict"] = _verdict(result, answers, simulations)
    return result


def _in_words(aim: Precision | Decision) -> str:
    """Return an aim in words."""
    if isinstance(aim, Precision):
        return f"a {100 * aim.probability:g} % interval of the accuracy that is at most {aim.width:g} wide"
    return f"the better classifier found at a posterior probability of {aim.probability:g}"


def _verdict(result: xr.Dataset, answers: np.ndarray, simulations: int) -> str:
    """Return the cheapest design that meets the aim in words; of equal prices that with the fewest answers."""
    meets, cost, share, error = (
        result[name].to_numpy().ravel() for name in ("meets", "cost", "assurance", "assurance_mcse")
    )
    aim, asked = result.attrs["aim"], result.attrs["assurance"]
    designs = list(product(*(result[name].to_numpy().tolist() for name in Design._fields)))

    def named(place: int) -> str:
        items, raters, alone = designs[place]
        people = f"{items:,} items with {raters} {'person' if raters == 1 else 'people'} each"
        more = f" and {alone:,} with the classifiers alone" if alone else ""
        return f"{people}{more}, cost {cost[place]:,.10g}, assurance {share[place]:.2f} ± {error[place]:.2f}"

    if not meets.any():
        return (
            f"No design reaches {aim} in {100 * asked:.0f} % of {simulations} simulated studies. The nearest: "
            f"{named(int(share.argmax()))}. Try more items or people"
        )
    order = np.lexsort((answers, cost))
    chosen = int(order[meets[order]][0])
    text = f"The cheapest design that reaches {aim} in {100 * asked:.0f} % of {simulations} simulated studies: {named(chosen)}"
    cheaper = order[: order.tolist().index(chosen)]
    near = cheaper[share[cheaper] + 2 * error[cheaper] >= asked]
    if len(near):
        text += f". A cheaper one may, too, within two Monte Carlo errors: {named(int(near[0]))}"
    return text


def _drawn_skill(name: Any, skill: Skill, rng: np.random.Generator) -> np.ndarray:
    """Draw the probability of the right answer, (draw,)."""
    mean, sd = skill if isinstance(skill, tuple | list) else (skill, 0.0)
    _check_share(f"the skill of {name!r}", mean)
    if not 0 <= sd or sd**2 >= mean * (1 - mean):
        raise ValueError(
            f"the skill of {name!r}: a standard deviation of {sd!r} does not fit a probability of mean {mean!r}; it must be "
            f"below {math.sqrt(mean * (1 - mean)):.3g}"
        )
    if sd == 0:
        return np.full(STATED_DRAWS, float(mean))
    size = mean * (1 - mean) / sd**2 - 1
    return rng.beta(mean * size, (1 - mean) * size, STATED_DRAWS)


def _check_share(name: str, value: Any) -> float:
    """Return a number in (0, 1), or raise."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value < 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1")
    return float(value)


def _sizes(name: str, values: Sequence[int], least: int) -> list[int]:
    """Return sizes in ascending order, each once, or raise."""
    sizes = [values] if isinstance(values, int | np.integer) else [*values]
    if not sizes:
        raise ValueError(f"{name} is empty; name at least one number")
    for value in sizes:
        check_whole(name, value, least)
    return sorted({int(value) for value in sizes})
