"""Readers of label models: answers and Dirichlet or Beta priors, from the PyMC graph."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import BetaRV, DirichletRV, LogNormalRV
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.counted_labels import CountedLabelsRV
from ...models.distributions.dirichlet_mixture import DirichletMixtureRV
from ...models.distributions.marginal_labels import LabelLogP, RaterLabelsByItemRV, RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers, answer_codes
from ...models.distributions.mixed_counts import MixedCountsRV
from ...models.labels.population import SKILL, STRENGTH, concentrations_by
from ...models.labels.taxonomic import (
    DECISIONS,
    RELATION_OF_ANSWER,
    offered,
    offers_of,
    probabilities,
    sizes_of,
)
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
    dirichlet_concentration,
    evaluator,
    is_equal,
    only_observed,
    positive_constant,
    refuse_further,
    shape_of,
)
from .kernels.ebcc import SubtypePrior
from .kernels.gibbs import (
    ABILITIES,
    COMPETENCE,
    FREE_ROWS,
    ONE_ABILITY,
    RELATIONS,
    ConfusionPrior,
    competence_of,
)
from .kernels.history import History
from .kernels.item_states import StatePrior
from .kernels.population import Population
from .kernels.relations import NO_RELATIONS, Relations, decisions_of

ROWS = (DirichletRV, DirichletMixtureRV)
PRIOR_BY_ITEM = (
    "the prior of the true category differs by item (features or prior_logits), and its effects have no closed "
    "conditional"
)


@dataclass(frozen=True, eq=False)
class LabelStructure:
    """Observed answers of a model, and the free random variables behind them."""

    answers: Answers  # the observed answers
    prevalence: TensorVariable  # free random variable
    # other free ones: confusion, or ability, or competence and spam
    skills: tuple[TensorVariable, ...]
    confusion: Variable  # the confusion matrices, a function of `skills`
    shapes: tuple[tuple[int, ...], ...]  # of `skills`
    kind: int  # FREE_ROWS, ONE_ABILITY, ABILITIES, COMPETENCE or RELATIONS
    requests: Answers | None = None  # responses of all who were asked, where these are observed, too
    relations: Relations = NO_RELATIONS  # of RELATIONS

    @property
    def free(self) -> tuple[TensorVariable, ...]:
        """Return all free random variables."""
        return (self.prevalence, *self.skills)

    @property
    def concentrations(self) -> list[Variable]:
        """Return the parameters of the priors: one of each Dirichlet, two of each Beta variable."""
        return [p for rv in self.free for p in rv.owner.op.dist_params(rv.owner)]

    def prior(self, prevalence: np.ndarray, *skill: np.ndarray) -> ConfusionPrior:
        """Return the priors in the layout of the kernels, given the values of `concentrations`."""
        alpha, shape = np.array(prevalence, np.float64), self.shapes[0]
        own = [np.broadcast_to(p, shape) for p in skill[:2]]
        if self.kind == FREE_ROWS:
            return ConfusionPrior(alpha, as_table(own[0].reshape(-1, *shape[-2:])), FREE_ROWS)
        n, n_raters = len(alpha), shape[0]
        table = np.zeros((n_raters, n, n))
        if self.kind == COMPETENCE:
            table[:, :, 0] = skill[2]
            table[:, 0, 1], table[:, 1, 1] = own
        else:
            table[:, 0], table[:, 1] = (p.reshape(n_raters, -1) for p in own)
        return ConfusionPrior(alpha, table.reshape(-1, n), self.kind)

    @staticmethod
    def given_and_rate(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return matrices of labels given that there is one, and the rates of a label and of each other answer."""
        n = confusion.shape[-2]
        answered = confusion[..., :n].sum(axis=-1, keepdims=True)
        return confusion[..., :n] / answered, np.concatenate([answered, confusion[..., n:]], axis=-1)

    def skills_of(self, confusion: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the values of `skills` given draws of confusion matrices (..., rater, category, answer)."""
        if self.kind == COMPETENCE:
            return competence_of(confusion)
        if self.kind == RELATIONS:
            return decisions_of(confusion, self.relations)
        if self.requests is not None:
            return self.given_and_rate(confusion)
        if self.kind == FREE_ROWS:
            return (confusion if len(self.shapes[0]) == 3 else confusion[..., 0, :, :],)
        ability = np.diagonal(confusion, axis1=-2, axis2=-1)
        return (ability[..., 0] if self.kind == ONE_ABILITY else ability,)


def read_labels(model: pm.Model) -> LabelStructure:
    """Read a label model whose variables have closed-form conditionals given the true categories.

    The one observed variable must be a `RaterLabels` of a free Dirichlet prevalence and of confusion
    matrices that are free Dirichlet rows, or computed from free Beta abilities, or from free Beta competences
    and free Dirichlet spam. Raises NotConjugate for any other model; the message says where it differs.
    """
    observed = only_observed(model, RaterLabelsRV)
    prevalence, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    if observed.owner.op.nodes > 1:
        raise NotConjugate(
            "the effects of the items are summed out, and the raters have no closed conditional"
        )
    if isinstance(observed.owner.op, RaterLabelsByItemRV):
        raise NotConjugate(PRIOR_BY_ITEM)
    if prevalence not in model.free_RVs:
        raise NotConjugate("the prevalence is not a free random variable of the model")
    if not isinstance(prevalence.owner.op, DirichletRV):
        raise NotConjugate(f"the prior of the prevalence is {prevalence.owner.op}, not a Dirichlet")
    skills = _confusion_parameters(confusion, model, prevalence)
    shapes = tuple(shape_of(skill) for skill in skills)
    (n,) = shape_of(prevalence)
    kind = _kind(skills, shapes, confusion, n)
    answers = answers_of_variable(model, (observed, start, rater, known), n)
    return LabelStructure(answers, prevalence, skills, confusion, shapes, kind)


def read_responses(model: pm.Model) -> tuple[LabelStructure, ConfusionPrior]:
    """Read a model of labels and of who gave one, and its priors: confusion matrices of more answers than categories.

    The prior of the true categories of the `RaterLabels` is p(true category | responses) of another one, and responses and labels
    have Dirichlet rows of which the first is so concentrated as the second in all. Raises NotConjugate for others.
    """
    (prevalence, rate, *asked), (confusion, *given) = _chained(model)
    rows = (prevalence, confusion, rate)
    if any(rv not in model.free_RVs or not isinstance(rv.owner.op, DirichletRV) for rv in rows):
        raise NotConjugate("prevalence, confusion and response rates are not free Dirichlet variables")
    refuse_further(model, rows)
    alpha, beta, gamma = map(dirichlet_concentration, rows)
    n, n_responses = len(alpha), gamma.shape[-1]
    if not is_equal(gamma[..., 0], beta.sum(axis=-1)):
        raise NotConjugate("labels and responses together have no Dirichlet rows")
    answers, requests = _joined(model, (asked, given), n, n_responses)
    shapes = beta.shape, gamma.shape
    law = LabelStructure(answers, prevalence, (confusion, rate), confusion, shapes, FREE_ROWS, requests)
    table = as_table(np.concatenate([beta, gamma[..., 1:]], axis=-1))
    return law, ConfusionPrior(alpha, table, FREE_ROWS, n_labels=n + n_responses - 1)


def _chained(model: pm.Model) -> tuple[list[Any], list[Any]]:
    """Return the law of the responses, and that of the labels given them; raise NotConjugate for others."""
    if len(model.observed_RVs) != 2 or model.potentials:
        raise NotConjugate("the sampler needs one observed RaterLabels, or responses and labels")
    asked, observed = model.observed_RVs
    laws = asked.owner.op, observed.owner.op
    if type(laws[0]) is not RaterLabelsRV or not isinstance(laws[1], RaterLabelsByItemRV):
        raise NotConjugate("the sampler needs one observed RaterLabels, or responses and labels")
    given, *law = observed.owner.op.dist_params(observed.owner)
    while given.owner is not None and not isinstance(given.owner.op, LabelLogP):
        given = given.owner.inputs[0]
    if given.owner is None or given.owner.outputs.index(given) != 1:
        raise NotConjugate("the prior of the truth is not p(true category | responses)")
    return list(asked.owner.op.dist_params(asked.owner)), law


def _joined(
    model: pm.Model, parts: tuple[list[Any], list[Any]], n: int, n_responses: int
) -> tuple[Answers, Answers]:
    """Return all answers, labels and the n_responses - 1 others, and the responses; `parts`: start, rater, known of each."""
    asked, observed = model.observed_RVs
    requests = answers_of_variable(model, (asked, *parts[0]), n_responses)
    labels = answers_of_variable(model, (observed, *parts[1]), n)
    wide = n + n_responses - 1
    code = requests.code // n_responses * wide + requests.code % n_responses + n - 1
    answered = requests.code % n_responses == 0
    label = labels.code // n * wide + labels.code % n
    same = answered.sum() == len(label) and (code[answered] // wide == label // wide).all()
    if not same or not is_equal(_answered_by_item(requests, answered), labels.start):
        raise NotConjugate("the labels are not those of the raters who gave one")
    code[answered] = label
    return Answers(requests.start, code.astype(np.int32), labels.gold_category), requests


def read_relations(model: pm.Model) -> tuple[LabelStructure, ConfusionPrior]:
    """Read a model of answers along a tree, and its priors; raise NotConjugate for others.

    Its data ``relation_of_answer`` say which answer is which to a true category, and the probabilities must be those of it.
    """
    code = constant_value(model[model.name_for(RELATION_OF_ANSWER)], "the relations")
    n, wide = code.shape
    names = [model.name_for(name) for name in offered(code)]
    skills = tuple(rv for name in names for rv in model.free_RVs if rv.name == name)
    if len(skills) < len(names) or any(not isinstance(rv.owner.op, BetaRV) for rv in skills):
        raise NotConjugate("the decisions of the raters are not free Beta variables")
    rate: Any = None
    if wide > n:
        (prevalence, rate, *asked), (confusion, *given) = _chained(model)
        answers, requests = _joined(model, (asked, given), n, wide - n + 1)
    else:
        observed = only_observed(model, RaterLabelsRV)
        prevalence, confusion, *given = observed.owner.op.dist_params(observed.owner)
        answers, requests = answers_of_variable(model, (observed, *given), n), None
    if prevalence not in model.free_RVs or not isinstance(prevalence.owner.op, DirichletRV):
        raise NotConjugate("the prevalence is not a free Dirichlet variable")
    refuse_further(model, (prevalence, *skills))
    law = dict(zip(offered(code), skills, strict=True))
    whole = probabilities(law, code)
    found = confusion if rate is None else pt.concatenate([confusion * rate[..., :1], rate[..., 1:]], axis=2)
    rng = np.random.default_rng(0)
    trials = [rng.uniform(size=shape_of(rv)) for rv in skills]
    matrices = evaluator(skills, [found, whole])(*trials)
    if not is_equal(np.asarray(matrices[0]), np.asarray(matrices[1])):
        raise NotConjugate("the confusion matrices are not those of the decisions")
    beta = np.ones((len(trials[0]), len(DECISIONS), 2))
    for name, rv in law.items():
        pair = [positive_constant(p, "a concentration") for p in rv.owner.op.dist_params(rv.owner)]
        beta[:, DECISIONS.index(name)] = np.stack(np.broadcast_arrays(*pair, trials[0])[:2], axis=-1)
    size = sizes_of(code)
    relations = Relations(np.ascontiguousarray(code.T, np.int8), size, offers_of(size), beta)
    shapes = tuple(trial.shape for trial in trials)
    structure = LabelStructure(answers, prevalence, skills, confusion, shapes, RELATIONS, requests, relations)
    table = np.ones((len(beta) * wide, n))
    alpha = dirichlet_concentration(prevalence)
    return structure, ConfusionPrior(alpha, table, RELATIONS, n_labels=wide, relations=relations)


def _answered_by_item(requests: Answers, answered: np.ndarray) -> np.ndarray:
    """Return the number of answers with a label before each item (item + 1,)."""
    return np.append(0, np.cumsum(answered))[requests.start]


def holds_truth(model: pm.Model) -> bool:
    """Whether ``plausibility`` is p(true category | answers, parameters): another variable of this name is computed."""
    variable = model.named_vars.get("plausibility")
    while variable is not None and variable.owner is not None:
        node = variable.owner
        if isinstance(node.op, LabelLogP):
            return node.outputs.index(variable) == 1
        variable = node.inputs[0] if type(node.op).__name__ == "ViewOp" else None
    return False


def answers_of_variable(model: pm.Model, observed: tuple[Variable, ...], n: int) -> Answers:
    """Return the constant answers of an observed variable, given with its start, rater and known category."""
    labels, start, rater, known = observed
    who, items = constant_value(rater, "the raters"), constant_value(start, "the items")
    code = answer_codes(who, constant_value(model.rvs_to_values[labels], "the observed labels"), n)
    return Answers(items.astype(np.int64), code, constant_value(known, "gold").astype(np.int64))


def constant_prior(
    model: pm.Model, structure: LabelStructure, besides: tuple[TensorVariable, ...] = ()
) -> ConfusionPrior:
    """Return the priors of a model, or of its populations of raters; NotConjugate if it has further free variables.

    `besides` are free variables that the answers do not depend on.
    """
    history = _history(model, structure)
    beta = structure.concentrations[1] if history is None else history[1]
    population = _population(model, structure, beta)
    own = (
        *structure.free,
        *besides,
        *(population[0] if population else ()),
        *(history[:1] if history else ()),
    )
    refuse_further(model, own, "; use ConfusionGibbs as a step of pm.sample")
    alpha = positive_constant(structure.concentrations[0], "a concentration")
    if history is not None or population is not None:
        without = [np.ones(structure.shapes[0])]
    else:
        without = [positive_constant(p, "a concentration") for p in structure.concentrations[1:]]
    prior = structure.prior(alpha, *without)
    if population is not None:
        prior = prior._replace(population=population[1])
    if history is not None:
        found = _components(history, population)
        prior = prior._replace(history=found, confusion=found.concentration[-1])
    return prior


def _history(model: pm.Model, structure: LabelStructure) -> tuple[TensorVariable, Variable, Variable] | None:
    """Return the weights of a mixture of Dirichlet rows, its concentrations without a history, and all; None for others."""
    if not isinstance(structure.skills[0].owner.op, DirichletMixtureRV):
        return None
    given, concentration = structure.concentrations[1:]
    above = set(ancestors([given]))
    weight = next((rv for rv in model.free_RVs if rv in above), None)
    if weight is None or not isinstance(weight.owner.op, DirichletRV):
        raise NotConjugate("the weights of the mixture are not a free Dirichlet variable")
    trial = np.arange(1.0, shape_of(weight)[0] + 1)
    if not is_equal(np.squeeze(evaluator([weight], given)(trial)), trial):
        raise NotConjugate(f"the weights of the mixture are not {weight.name!r}")
    return weight, cast(Any, concentration)[:, -1], concentration


def _components(
    history: tuple[TensorVariable, Variable, Variable],
    population: tuple[list[TensorVariable], Population] | None,
) -> History:
    """Return the components of a mixture, the last of which may be that of populations; NotConjugate for others."""
    weight, _, whole = history
    if population is None:
        beta = positive_constant(whole, "a concentration")
    else:
        at = evaluator(population[0], whole)
        trials = [at(*(np.full(shape_of(rv), value) for rv in population[0])) for value in (0.3, 0.6)]
        beta = trials[0]
        if not is_equal(*(own[:, :-1] for own in trials)):
            raise NotConjugate("a component of the mixture besides the last depends on the populations")
    known = (beta[:, 0] != beta[:, -2]).any(axis=(1, 2))
    tables = np.stack([as_table(own) for own in np.moveaxis(np.asarray(beta, np.float64), 1, 0)])
    alike = is_equal(beta[~known, :-1], beta[~known, :1])
    if not alike:
        raise NotConjugate("raters without a history have several components")
    return History(dirichlet_concentration(weight), tables, known)


def _population(
    model: pm.Model, structure: LabelStructure, concentration: Variable
) -> tuple[list[TensorVariable], Population] | None:
    """Return skill and strength of populations of raters, and their priors; None if the concentrations are not of these."""
    own = [rv for name in (SKILL, STRENGTH) for rv in model.free_RVs if rv.name == model.name_for(name)]
    laws = [type(rv.owner.op) for rv in own]
    if structure.kind != FREE_ROWS or len(structure.shapes[0]) != 3 or laws != [BetaRV, LogNormalRV]:
        return None
    n_raters, n = structure.shapes[0][:2]
    rng, size = np.random.default_rng(0), shape_of(own[0])
    skill, strength = rng.uniform(size=size), rng.uniform(1, 2, size=size)
    beta = evaluator(own, concentration)(skill, strength)
    beta = np.broadcast_to(beta, (n_raters, n, n))
    of = np.abs(beta[:, 0].sum(axis=-1)[:, None] - strength).argmin(axis=1)
    if not is_equal(beta, concentrations_by(skill[of], strength[of], n)):
        return None
    first, second = (
        np.stack(
            np.broadcast_arrays(
                *(constant_value(p, f"the prior of {rv.name!r}") for p in rv.owner.op.dist_params(rv.owner)),
                np.empty(size),
            )[:2],
            axis=-1,
        ).astype(np.float64)
        for rv in own
    )
    return own, Population(of.astype(np.int64), first, second)


def read_counted_labels(model: pm.Model) -> tuple[TensorVariable, np.ndarray, np.ndarray, np.ndarray]:
    """Read a model of counted labels: plausibility, alpha, counts, reliability.

    The one observed variable must be a `CountedLabels` of a free Dirichlet plausibility; otherwise
    NotConjugate is raised. The posterior is Dirichlet(alpha + reliability * counts). Shapes: alpha, counts
    (item, category); reliability () or (item,).
    """
    observed = only_observed(model, CountedLabelsRV)
    plausibility, _, reliability = observed.owner.op.dist_params(observed.owner)
    if plausibility not in model.free_RVs:
        raise NotConjugate("the plausibilities are not a free random variable of the model")
    refuse_further(model, [plausibility])
    counts = constant_value(model.rvs_to_values[observed], "the observed counts")
    power = constant_value(reliability, "reliability")
    return plausibility, dirichlet_concentration(plausibility), counts, power


def _confusion_parameters(
    confusion: Variable, model: pm.Model, prevalence: Variable
) -> tuple[TensorVariable, ...]:
    """Return the free variables behind the confusion matrices, competence before spam, or raise."""
    near = set(ancestors([confusion], blockers=model.free_RVs))
    found = [rv for rv in model.free_RVs if rv in near]
    found.sort(key=lambda rv: not isinstance(rv.owner.op, BetaRV))
    spam = [type(rv.owner.op) for rv in found] == [BetaRV, DirichletRV]
    if (len(found) != 1 and not spam) or prevalence in found:
        names = ", ".join(str(rv.name) for rv in found) or "nothing"
        raise NotConjugate(
            "the confusion matrices must be made of one free variable, confusion or ability, or of competence and spam; they are "
            f"made of {names}"
        )
    own = (prevalence, *found)
    for rv in model.free_RVs:
        for other in own:
            if rv is not other and other in ancestors([rv]):
                raise NotConjugate(f"{rv.name!r} depends on {other.name!r}, too")
    return tuple(found)


def _kind(
    skills: tuple[TensorVariable, ...], shapes: tuple[tuple[int, ...], ...], confusion: Variable, n: int
) -> int:
    """Return the kind of the confusion matrices, found by evaluating them at random values, or raise."""
    rng = np.random.default_rng(0)
    trials = [
        rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        if isinstance(rv.owner.op, ROWS)
        else rng.uniform(size=shape)
        for rv, shape in zip(skills, shapes, strict=True)
    ]
    for kind, expected in _matrices(skills, shapes, trials, n):
        found = np.asarray(evaluator(skills, confusion)(*trials))
        if found.shape == expected.shape and is_equal(found, expected):
            return kind
    names = " and ".join(repr(rv.name) for rv in skills)
    raise NotConjugate(
        f"the confusion matrices are neither the rows of {names}, nor its abilities with wrong labels alike, nor made of "
        "competence and spam"
    )


def _matrices(
    skills: tuple[TensorVariable, ...], shapes: tuple[tuple[int, ...], ...], trials: list[np.ndarray], n: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each kind that such variables may have, with the confusion matrices at the trial values."""
    trial, dims = trials[0], len(shapes[0])
    if len(skills) == 2 and shapes[1] == (*shapes[0], n):
        missed = ((1 - trial)[:, None] * trials[1])[:, None, :]
        yield COMPETENCE, trial[:, None, None] * np.eye(n) + missed
    elif isinstance(skills[0].owner.op, ROWS) and dims in (2, 3):
        yield FREE_ROWS, trial.reshape(-1, *shapes[0][-2:])
    elif isinstance(skills[0].owner.op, BetaRV) and dims in (1, 2):
        ability = trial.reshape(len(trial), -1, 1)
        alike = np.where(np.eye(n, dtype=bool), ability, (1 - ability) / (n - 1))
        yield (ONE_ABILITY if dims == 1 else ABILITIES), alike


def as_table(confusion: np.ndarray) -> np.ndarray:
    """Rearrange (rater, category, answer) to (rater * label, category), the layout of the kernels."""
    n_states = confusion.shape[1]
    return np.ascontiguousarray(confusion.transpose(0, 2, 1), np.float64).reshape(-1, n_states)


# --- Reader of mixtures of item states: counts and Dirichlet priors, from the PyMC graph ---


def read_item_states(model: pm.Model) -> tuple[np.ndarray, StatePrior]:
    """Read a `MixedCounts` of free Dirichlet variables: counts (item, category), and priors; NotConjugate for others."""
    observed = only_observed(model, MixedCountsRV)
    weight, probability, spread, _ = observed.owner.op.dist_params(observed.owner)
    if constant_value(spread, "the spread within a state").any():
        raise NotConjugate("the items of a state differ: its spread is not zero")
    for rv in (weight, probability):
        if rv not in model.free_RVs:
            raise NotConjugate(f"{rv.name!r} is not a free random variable of the model")
    refuse_further(model, [weight, probability])
    prior = StatePrior(dirichlet_concentration(weight), dirichlet_concentration(probability))
    return constant_value(model.rvs_to_values[observed], "the observed counts"), prior


# --- Reader of EBCC: answers and Dirichlet priors of states, from the PyMC graph ---


@dataclass(frozen=True, eq=False)
class SubtypeLaw:
    """Observed answers of a model of subtypes, the priors, and the names of its free variables."""

    answers: Answers
    prior: SubtypePrior
    names: tuple[str, str, str]  # of prevalence, weights of the subtypes, confusion matrices by subtype

    def by_subtype(self, table: np.ndarray) -> np.ndarray:
        """Rearrange (..., rater * label, state) to (..., rater, category, subtype, label)."""
        n, n_subtypes = self.prior.weight.shape
        by_state = table.reshape(*table.shape[:-2], -1, n, n, n_subtypes)
        return np.moveaxis(by_state, -3, -1)


def read_subtypes(model: pm.Model) -> SubtypeLaw:
    """Read a `RaterLabels` whose states are categories with subtypes, of free Dirichlet variables; NotConjugate for others."""
    observed = only_observed(model, RaterLabelsRV)
    probability, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    if isinstance(observed.owner.op, RaterLabelsByItemRV):
        raise NotConjugate(PRIOR_BY_ITEM)
    free = [rv for rv in model.free_RVs if isinstance(rv.owner.op, DirichletRV)]
    free.sort(key=lambda rv: rv.type.ndim)
    if [rv.type.ndim for rv in free] != [1, 2, 4]:
        raise NotConjugate(
            "the Dirichlet variables are not prevalence, weights of subtypes and confusion matrices"
        )
    refuse_further(model, free)
    prevalence, weight, own = (dirichlet_concentration(rv) for rv in free)
    rng = np.random.default_rng(0)
    trials = [rng.dirichlet(np.ones(x.shape[-1]), x.shape[:-1]) for x in (prevalence, weight, own)]
    states = weight.size
    expected = [(trials[0][:, None] * trials[1]).ravel(), trials[2].reshape(len(own), states, -1)]
    found = evaluator(free, [probability, confusion])(*trials)
    alike = (
        x.shape == y.shape and is_equal(x, y) for x, y in zip(map(np.asarray, found), expected, strict=True)
    )
    if not all(alike):
        raise NotConjugate("the states are not those of categories with subtypes")
    prior = SubtypePrior(prevalence, weight, as_table(own.reshape(len(own), states, -1)))
    answers = answers_of_variable(model, (observed, start, rater, known), len(prevalence))
    return SubtypeLaw(answers, prior, (str(free[0].name), str(free[1].name), str(free[2].name)))
