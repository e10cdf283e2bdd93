"""Our samplers on new annotations without building the model again: whole runs, and transitions from given parameters.

A run is what `inference.sample` does between reading the model and storing the draws; `calibration` compares the two bit by bit.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
from pytensor.compile.maker import function
from raterzoo.inference.comparisons import hmc as comparison_chains
from raterzoo.inference.comparisons.hmc import begin_hmc
from raterzoo.inference.comparisons.kernels import hmc as laplace_hmc
from raterzoo.inference.comparisons.kernels.centre import fit_laplace
from raterzoo.inference.comparisons.kernels.likelihood import pair_cells
from raterzoo.inference.comparisons.recognition import coordinates_of, read_comparisons, values_of
from raterzoo.inference.labels import cultural_consensus as consensus_chains
from raterzoo.inference.labels import ebcc as subtype_chains
from raterzoo.inference.labels import gibbs as label_chains
from raterzoo.inference.labels import item_response as response_chains
from raterzoo.inference.labels import item_states as state_chains
from raterzoo.inference.labels import multi_label as tag_chains
from raterzoo.inference.labels import ordinal as threshold_chains
from raterzoo.inference.labels import shared_guess as guess_chains
from raterzoo.inference.labels import skill_in_time as walk_chains
from raterzoo.inference.labels.correlated_votes import (
    CORRELATION,
    begin_correlated_votes,
    draw_correlations,
    read_correlated_votes,
)
from raterzoo.inference.labels.cultural_consensus import begin_consensus_gibbs, read_consensus
from raterzoo.inference.labels.ebcc import begin_subtypes_gibbs
from raterzoo.inference.labels.gibbs import begin_labels_gibbs
from raterzoo.inference.labels.item_response import begin_item_response_gibbs, read_responses_of_models
from raterzoo.inference.labels.item_states import begin_item_states_gibbs
from raterzoo.inference.labels.kernels import cultural_consensus as consensus_chain
from raterzoo.inference.labels.kernels import ebcc as subtype_chain
from raterzoo.inference.labels.kernels import gibbs as label_chain
from raterzoo.inference.labels.kernels import item_response as response_chain
from raterzoo.inference.labels.kernels import item_states
from raterzoo.inference.labels.kernels import multi_label as tag_chain
from raterzoo.inference.labels.kernels import ordinal as threshold_chain
from raterzoo.inference.labels.kernels import shared_guess as guess_chain
from raterzoo.inference.labels.kernels import skill_in_time as walk_chain
from raterzoo.inference.labels.kernels.gibbs import (
    FREE_ROWS,
    ConfusionPrior,
    LabelDraws,
    LabelSchedule,
    LabelState,
)
from raterzoo.inference.labels.kernels.multi_label import TagDraws, TagState
from raterzoo.inference.labels.kernels.skill_in_time import WalkDraws, WalkState
from raterzoo.inference.labels.multi_label import begin_multi_label, read_tag_sets
from raterzoo.inference.labels.ordinal import begin_ordinal_gibbs, read_ordinal
from raterzoo.inference.labels.recognition import (
    LabelStructure,
    as_table,
    constant_prior,
    read_item_states,
    read_labels,
    read_relations,
    read_subtypes,
)
from raterzoo.inference.labels.shared_guess import begin_shared_guess, constant_guess_prior, read_shared_guess
from raterzoo.inference.labels.skill_in_time import begin_skill_in_time, read_walks
from raterzoo.inference.rankings import gibbs as worth_chains
from raterzoo.inference.rankings.gibbs import begin_gibbs
from raterzoo.inference.rankings.kernels import gibbs as worth
from raterzoo.inference.rankings.recognition import (
    distinct_annotations,
    gamma_parameters,
    read_rankings,
    worth_posterior,
)
from raterzoo.inference.runs.run import ChainPlan, Run, stream
from raterzoo.inference.scores import hierarchical as score_chains
from raterzoo.inference.scores.hierarchical import begin_hierarchical_scores
from raterzoo.inference.scores.kernels import hierarchical as score_chain
from raterzoo.inference.scores.kernels.hierarchical import ScoreDraws, ScoreState
from raterzoo.inference.scores.recognition import read_rater_scores
from raterzoo.models.distributions.marginal_labels_kernels import answer_codes
from raterzoo.models.labels.tag_laws import confusion_of_sets, log_odds_of_sets

from .joint_law import Values

__all__ = ["KEPT", "Chains", "chains_of"]

KEPT = 99  # draws that each truth is ranked among


class Chains:
    """A sampler of one model.

    Parameters
    ----------
    model : pymc.Model
        Read once; its own annotations are not used.
    schedule : tuple of int
        Sweeps before the first kept draw, and for each.
    """

    begun_by: Callable[..., Run] | None = None  # how `inference.sample` begins: evidence for that, too

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        self.model, (self.tune, self.thin) = model, schedule

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain from the sampler's own start; return its kept draws."""
        raise NotImplementedError

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Make transitions from given parameters; return the new parameters."""
        raise NotImplementedError


class LabelChains(Chains):
    """Gibbs of labels: collapsed for rows, else plain."""

    begun_by = begin_labels_gibbs

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law, self.prior = self.read(model)
        self.n = len(self.prior.prevalence)
        self.rater = self.law.answers.code // self.n
        self._confusion = function(list(self.law.skills), self.law.confusion)

    def read(self, model: pm.Model) -> tuple[LabelStructure, ConfusionPrior]:
        """Read the law of the answers and its priors."""
        law = read_labels(model)
        return law, constant_prior(model, law)

    def told(self, answers: np.ndarray) -> Any:
        """Return the answers as the kernel reads them."""
        return self.law.answers._replace(code=answer_codes(self.rater, answers, self.n))

    def named(self, prevalence: np.ndarray, table: np.ndarray) -> Values:
        """Return draws by the names of the free variables."""
        matrices = table.reshape(len(table), -1, self.n, self.n).swapaxes(-1, -2)
        drawn = (prevalence, *self.law.skills_of(matrices))
        return {str(rv.name): x for rv, x in zip(self.law.free, drawn, strict=True)}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin)
        drawn = label_chains.draw_labels_model(self.told(answers), self.prior, plan)
        return self.named(drawn.prevalence[0], drawn.table[0])

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Draw the true categories given the parameters, then sweep."""
        told = self.told(answers)
        skills = [values[str(rv.name)] for rv in self.law.skills]
        table = as_table(np.asarray(self._confusion(*skills)))
        category = drawn_states(told, values[str(self.law.prevalence.name)], table, rng)
        hyper, weight = np.empty((0, 2)), np.empty(0)
        shapes = ((self.n,), table.shape, (len(category), self.n), (len(category),), hyper.shape, (0,))
        draws = LabelDraws(*(np.empty((1, *shape)) for shape in shapes))
        schedule = LabelSchedule(0, moves, self.prior.kind == FREE_ROWS)
        state = LabelState(category, table.copy(), hyper, weight)
        label_chain.sample_labels(stream(rng), told, self.prior, schedule, (state, draws))
        return {name: x[0] for name, x in self.named(draws.prevalence, draws.table).items()}


class TreeChains(LabelChains):
    """Gibbs of labels of a tree."""

    def read(self, model: pm.Model) -> tuple[LabelStructure, ConfusionPrior]:
        """Read the law of the answers and its priors."""
        return read_relations(model)


class VoteChains(LabelChains):
    """Gibbs of labels, and the correlation of the votes from its prior."""

    begun_by = begin_correlated_votes

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.correlation = read_correlated_votes(model).correlation

    def read(self, model: pm.Model) -> tuple[LabelStructure, ConfusionPrior]:
        """Read the law of the answers and its priors."""
        votes = read_correlated_votes(model)
        return votes.labels, votes.prior

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        drawn = draw_correlations(self.correlation, seed, 1, (0, KEPT))
        return {**super().run(answers, seed), CORRELATION: drawn[0]}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Draw the true categories given the parameters, then sweep."""
        drawn = draw_correlations(self.correlation, int(rng.integers(2**32)), 1, (0, moves))
        return {**super().move(values, answers, moves, rng), CORRELATION: drawn[0, -1]}


class GuessChains(Chains):
    """Gibbs of raters who share guesses."""

    begun_by = begin_shared_guess

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_shared_guess(model)
        self.prior = constant_guess_prior(model, self.law)
        self.n = self.law.n_categories
        self.rater = self.law.answers.code // self.n

    def told(self, answers: np.ndarray) -> guess_chains.GuessStructure:
        """Return the structure with these answers."""
        code = answer_codes(self.rater, answers, self.n)
        return replace(self.law, answers=self.law.answers._replace(code=code))

    def named(self, draws: Any) -> Values:
        """Return draws by the names of the free variables."""
        values = guess_chains.values_of(self.law, draws)
        return {str(rv.name): x for rv, x in zip(self.law.free, values, strict=True)}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin)
        drawn = guess_chains.draw_guess_model(self.told(answers), self.prior, plan)
        return {name: x[0] for name, x in self.named(drawn).items()}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Sweep."""
        prevalence, own, guess, drawn = (np.array(values[str(rv.name)], np.float64) for rv in self.law.free)
        shared = np.zeros(len(self.law.group))
        shared[self.law.copiers] = drawn
        state, told = (
            guess_chain.GuessParameters(prevalence, as_table(own), guess, shared),
            self.told(answers),
        )
        for _ in range(moves):
            guess_chain.sweep_guesses(stream(rng), told.grouped, self.prior, state)
        return self.named(state)


class WalkChains(Chains):
    """Gibbs of raters who change in time."""

    begun_by = begin_skill_in_time

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_walks(model)
        self.n = len(self.law.prior.prevalence)
        self.rater = self.law.answers.code // self.n

    def told(self, answers: np.ndarray) -> walk_chains.WalkStructure:
        """Return the structure with these answers."""
        code = answer_codes(self.rater, answers, self.n)
        return replace(self.law, answers=self.law.answers._replace(code=code))

    def named(self, drawn: WalkDraws) -> Values:
        """Return draws by the names of the free variables."""
        values = walk_chains.values_of(self.law, drawn)
        return {str(rv.name): x for rv, x in zip(self.law.free, values, strict=True)}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan, told = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin), self.told(answers)
        drawn = walk_chains.continue_walks(told, plan, walk_chains.begin_walks(told, plan))
        return {name: x[0] for name, x in self.named(drawn).items()}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Draw the true categories given the parameters, then sweep."""
        prevalence, *own = (np.asarray(values[str(rv.name)], np.float64) for rv in self.law.free)
        walk, wrong = walk_chains.walks_of(self.n, own[0], float(own[1]), own[2])
        told, table = self.told(answers), as_table(walk_chains.matrices_of(walk, wrong, self.n))
        category = drawn_states(told.answers, prevalence, table, rng)
        state = WalkState(category, walk, np.array([float(own[1])]))
        shapes = ((self.n,), walk.shape, wrong.shape, (), (0, self.n), (0,))
        draws = WalkDraws(*(np.empty((1, *shape)) for shape in shapes))
        walk_chain.sample_walks(stream(rng), told.answers, self.law.prior, (0, moves), (state, draws))
        return {name: x[0] for name, x in self.named(draws).items()}


def drawn_states(told: Any, probability: np.ndarray, table: np.ndarray, rng: np.random.Generator) -> np.ndarray:  # fmt: skip
    """Draw the category or state of every item without gold label, given its probabilities and those of labels."""
    log_p = np.log(probability) + np.zeros((len(told.gold_category), len(probability)))
    np.add.at(log_p, np.repeat(np.arange(len(log_p)), np.diff(told.start)), np.log(table)[told.code])
    return np.argmax(log_p + rng.gumbel(size=log_p.shape), axis=1).astype(np.int64)


class SubtypeChains(Chains):
    """Gibbs of EBCC; subtypes are sorted in the draws of runs only."""

    begun_by = begin_subtypes_gibbs

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_subtypes(model)
        self.n = len(self.law.prior.prevalence)
        self.rater = self.law.answers.code // self.n

    def told(self, answers: np.ndarray) -> Any:
        """Return the answers as the kernel reads them."""
        return self.law.answers._replace(code=answer_codes(self.rater, answers, self.n))

    def named(self, drawn: subtype_chain.SubtypeDraws) -> Values:
        """Return draws by the names of the free variables."""
        confusion = self.law.by_subtype(drawn.table)
        return dict(zip(self.law.names, (drawn.prevalence, drawn.weight, confusion), strict=True))

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin)
        drawn = subtype_chains.draw_subtypes(self.told(answers), self.law.prior, plan)
        return {name: x[0] for name, x in self.named(drawn).items()}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Draw the states of the items given the parameters, then sweep."""
        told, prior = self.told(answers), self.law.prior
        prevalence, weight, confusion = (values[name] for name in self.law.names)
        table = as_table(confusion.reshape(len(confusion), -1, self.n))
        state = drawn_states(told, (prevalence[:, None] * weight).ravel(), table, rng)
        shapes = (prevalence.shape, weight.shape, table.shape, (len(state), self.n), (len(state),))
        draws = subtype_chain.SubtypeDraws(*(np.empty((1, *shape)) for shape in shapes))
        subtype_chain.sample_subtypes(stream(rng), told, prior, (0, moves), (state, draws))
        return {name: x[0] for name, x in self.named(draws).items()}


class TagChains(Chains):
    """Gibbs of sets of tags."""

    begun_by = begin_multi_label

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_tag_sets(model)
        self.n = self.law.prior.feature.shape[1]
        self.rater = self.law.answers.code // self.n

    def told(self, answers: np.ndarray) -> tag_chains.TagLaw:
        """Return the law with these answers."""
        code = answer_codes(self.rater, answers, self.n)
        return replace(self.law, answers=self.law.answers._replace(code=code))

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan, told = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin), self.told(answers)
        drawn = tag_chains.continue_tags(told, plan, tag_chains.begin_tags(told, plan))
        return {name: x[0] for name, x in tag_chains.values_of(told, drawn).items()}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Draw the sets of the items given the parameters, then sweep."""
        told, own = self.told(answers), {name: np.array(values[name], np.float64) for name in tag_chains.LAWS}
        weight, ratio, skill, strength, *rates = own.values()
        log_p = log_odds_of_sets(weight, ratio, self.law.n_tags)
        table = as_table(confusion_of_sets(*rates, self.law.n_tags))
        truth = drawn_states(told.answers, np.exp(log_p), table, rng)
        state = TagState(
            truth, np.append(weight, ratio), np.stack([skill, strength], axis=1), np.zeros(1, np.int64)
        )
        shapes = ((len(state.weight),), state.skill.shape, (*rates[0].shape, 2), (self.n,), (0, self.n), (0,))
        draws = TagDraws(*(np.empty((1, *shape)) for shape in shapes))
        tag_chain.sample_tags(stream(rng), told.answers, self.law.prior, (0, moves), (state, draws))
        return {name: x[0] for name, x in tag_chains.values_of(told, draws).items()}


class ConsensusChains(Chains):
    """Gibbs of populations with truths of their own; populations are numbered in the draws of runs only."""

    begun_by = begin_consensus_gibbs

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_consensus(model)
        self.rater = self.law.answers.code // self.law.n_categories

    def told(self, answers: np.ndarray) -> consensus_chains.ConsensusLaw:
        """Return the law with these answers."""
        code = answer_codes(self.rater, answers, self.law.n_categories)
        return replace(self.law, answers=self.law.answers._replace(code=code))

    def named(self, drawn: consensus_chain.ConsensusDraws) -> Values:
        """Return draws by the names of the free variables."""
        names = ("joint_prevalence", "population_share", "membership", "ability")
        return dict(zip(names, drawn[:4], strict=True)) | {"membership": drawn.membership.astype(np.int64)}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan, law = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin), self.told(answers)
        state = consensus_chains.begin_consensus(law, plan)
        reference = consensus_chains.in_order_of_size(state["membership"][0], law.prior.truth.shape[1])
        drawn = consensus_chains.continue_consensus(law, plan, state, reference)
        return {name: x[0] for name, x in self.named(drawn).items()}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Draw the joint truths of the items given the parameters, then sweep."""
        law, n = self.told(answers), self.law.n_categories
        member, ability = np.array(values["membership"], np.int64), np.array(values["ability"])[:, None, None]
        right = np.eye(n, dtype=bool)[law.prior.truth[:, member].T]
        table = np.where(right, ability, (1 - ability) / (n - 1))
        cell = drawn_states(law.answers, np.array(values["joint_prevalence"]), as_table(table), rng)
        draws = consensus_chains.places(law, (1,), np.float64)
        state = consensus_chain.ConsensusState(cell, member)
        consensus_chain.sample_consensus(
            stream(rng), law.answers, law.items, law.prior, (0, moves), (state, draws)
        )
        return {name: x[0] for name, x in self.named(draws).items()}


class ResponseChains(Chains):
    """Gibbs of item responses."""

    begun_by = begin_item_response_gibbs

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_responses_of_models(model)
        self.n = len(self.law.prior.prevalence)
        self.rater = self.law.answers.code // self.n
        self.names = ("ability", "difficulty_spread", "key_reliability", "prevalence")
        (observed,) = model.observed_RVs
        node: Any = observed.owner
        self._of_state = function([model[name] for name in self.names], node.op.dist_params(node)[:2])

    def told(self, answers: np.ndarray) -> response_chains.ResponseLaw:
        """Return the law with other answers."""
        own = self.law.answers._replace(code=answer_codes(self.rater, answers, self.n))
        data = response_chains.responses_of(own, self.law.makes_key, self.n)
        return replace(self.law, answers=own, data=data)

    def named(self, drawn: response_chain.ResponseDraws) -> Values:
        """Return draws by the names of the free variables."""
        return dict(
            zip(self.names, (drawn.ability, drawn.spread, drawn.reliability, drawn.prevalence), strict=True)
        )

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin)
        law = self.told(answers)
        drawn = response_chains.continue_responses(
            law, plan, response_chains.begin_responses(law, plan), of_items=False
        )
        return {name: x[0] for name, x in self.named(drawn).items()}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Draw the true categories given the parameters, then sweep."""
        law = self.told(answers)
        probability, confusion = self._of_state(*(values[name] for name in self.names))
        state = drawn_states(law.answers, probability, as_table(confusion), rng)
        category = state // (len(probability) // self.n)
        begin = response_chain.ResponseState(
            category, np.array(values["ability"]), np.full(1, values["difficulty_spread"]), np.full(3, 0.5)
        )
        empty = [
            np.empty((1, *np.shape(values[name]))) for name in self.names
        ] + [np.empty((1, len(begin.ability))), np.empty((1, 0, self.n)), *(np.empty((1, 0)) for _ in range(3))]  # fmt: skip
        draws = response_chain.ResponseDraws(*empty)
        response_chain.sample_responses(stream(rng), law.data, law.prior, (0, moves), (begin, draws))
        return {name: x[0] for name, x in self.named(draws).items()}


class ThresholdChains(Chains):
    """Gibbs of the ordinal model."""

    begun_by = begin_ordinal_gibbs

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_ordinal(model)
        self.rater = self.law.answers.code // len(self.law.place)

    def told(self, answers: np.ndarray) -> threshold_chains.OrdinalLaw:
        """Return the law with other answers."""
        own = self.law.answers._replace(code=answer_codes(self.rater, answers, len(self.law.place)))
        data = threshold_chains.by_item_and_rater(own, self.law.place, len(self.law.data.number) - 1)
        return replace(self.law, answers=own, data=data)

    def named(self, drawn: threshold_chain.OrdinalDraws) -> Values:
        """Return draws by the names of the free variables."""
        values = dict(zip(threshold_chains.POPULATION, np.moveaxis(drawn.population, -1, 0), strict=True))
        own = {name: getattr(drawn, name) for name in ("rater_centre", "rater_log_scale", "log_increment")}
        return values | own

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan, law = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin), self.told(answers)
        begin = threshold_chains.begin_ordinal(law, plan)
        drawn = threshold_chains.continue_ordinal(law, plan, begin, of_items=False)
        return {name: x[0] for name, x in self.named(drawn).items()}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Sweep; the locations come first, and do not depend on those before."""
        law = self.told(answers)
        own = [np.array(values[name]) for name in ("rater_centre", "rater_log_scale", "log_increment")]
        population = np.array([float(values[name]) for name in threshold_chains.POPULATION])
        widths = [np.full(len(x), 0.5) for x in own[1:]]
        items = len(law.answers.gold_category)
        begin = threshold_chain.OrdinalState(
            np.zeros(items), own[0], own[1], population, own[2], *widths, np.full((2, 5), 0.5)
        )
        draws = threshold_chains.places(law, (1,), np.float64, of_items=False)
        threshold_chain.sample_ordinal(stream(rng), law.data, law.prior, (0, moves), (begin, draws))
        return {name: x[0] for name, x in self.named(draws).items()}


class StateChains(Chains):
    """Gibbs of item states."""

    begun_by = begin_item_states_gibbs

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        _, self.prior = read_item_states(model)

    def told(self, answers: np.ndarray) -> item_states.CountPatterns:
        """Return the patterns of counts as the kernel reads them."""
        distinct, items = np.unique(answers, axis=0, return_counts=True)
        return item_states.CountPatterns(distinct.astype(np.float64), items.astype(np.int64))

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, thin=self.thin)
        drawn = state_chains.draw_states(self.told(answers), self.prior, plan)
        return {"state_weight": drawn.weight[0], "state_probability": drawn.probability[0]}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Sweep."""
        own = [np.log(values[name]) for name in ("state_weight", "state_probability")]
        draws = item_states.StateDraws(*(np.empty((1, *x.shape)) for x in own))
        state = (own[0], own[1])
        item_states.continue_item_states(
            stream(rng), self.told(answers), self.prior, (0, moves), (state, draws)
        )
        return {"state_weight": draws.weight[0], "state_probability": draws.probability[0]}


class WorthChains(Chains):
    """Gibbs of the worths of Plackett-Luce."""

    begun_by = begin_gibbs

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_rankings(model)
        self.gamma = gamma_parameters(self.law.worth)
        self.keys = worth_chains.item_keys(np.asarray(model.coords["item"]))
        self.shape = tuple(int(n) for n in np.asarray(self.law.worth.shape.eval()))

    def told(self, answers: np.ndarray) -> Any:
        """Return the posterior as the kernel reads it."""
        law = self.law
        own = distinct_annotations(answers, law.candidate, law.reliability, len(self.gamma[0]), law.start)
        return worth_posterior(own, *self.gamma)

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain of every item."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64")
        told = self.told(answers)
        start = worth_chains.begin_worths(told, self.keys, plan)
        drawn = worth_chains.continue_worths(told, self.thin, plan, start)
        return {"worth": np.exp(drawn[0]).reshape(KEPT, *self.shape)}

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Sweep."""
        posterior, log_worth = self.told(answers), np.log(values["worth"]).ravel()
        for _ in range(moves):
            worth.sweep_items(stream(rng), posterior, log_worth)
        return {"worth": np.exp(log_worth).reshape(self.shape)}


OF_EFFECTS = ("feature_effect", "feature_scale")


class ScoreChains(Chains):
    """Gibbs of hierarchical scores."""

    begun_by = begin_hierarchical_scores

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_rater_scores(model)

    def named(self, draws: ScoreDraws) -> Values:
        """Return draws by the names of the free variables."""
        mean, spread, bias_spread, shape = np.moveaxis(draws.population, -1, 0)
        found = {
            "location_mean": mean,
            "location_spread": spread,
            "location": draws.location,
            "bias_spread": bias_spread,
            "variance_shape": shape,
            "group_bias": draws.group_bias,
            "usual_variance": draws.usual if self.law.grouped else draws.usual[..., 0],
            "rater_bias": draws.bias,
            "rater_variance": draws.variance,
            "feature_effect": draws.effect,
            "feature_scale": draws.effect_scale[..., 0] if draws.effect.shape[-1] else None,
        }
        return {name: found[name] for name in (str(rv.name) for rv in self.model.free_RVs)}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin)
        told = self.law.scores._replace(score=answers)
        drawn = score_chains.draw_hierarchy(told, self.law.hyper, plan)
        return self.named(ScoreDraws(*(x[0] for x in drawn)))

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Sweep."""
        names = ("location_mean", "location_spread", "bias_spread", "variance_shape")
        own = ("location", "rater_bias", "rater_variance", "group_bias", "usual_variance")
        no_group = np.zeros(1)
        arrays = [np.array(np.atleast_1d(values.get(name, no_group)), np.float64) for name in own]
        effects = [np.array(np.atleast_1d(values.get(name, [])), np.float64) for name in OF_EFFECTS]
        state = ScoreState(*arrays, np.array([float(values[name]) for name in names]), *effects)
        draws = ScoreDraws(*(np.empty((1, len(x))) for x in state))
        told = self.law.scores._replace(score=answers)
        score_chain.sample_scores(stream(rng), told, self.law.hyper, (0, moves), (state, draws))
        return {name: x[0] for name, x in self.named(draws).items()}


class PairChains(Chains):
    """Laplace-split HMC of comparisons."""

    begun_by = begin_hmc

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_comparisons(model)
        (observed,) = model.observed_RVs
        *_, left, right, rater, _ = observed.owner.op.dist_params(observed.owner)
        codes = [np.asarray(code.eval()) for code in (left, right, rater)]
        if self.law.votes is not None:
            codes[2] = self.law.votes.rater[codes[2]]
        codes[2] = codes[2] if self.law.prior.n_raters > 1 else np.zeros_like(codes[2])
        self.codes = tuple(codes)

    def told(self, answers: np.ndarray) -> Any:
        """Return the answers as the kernel reads them."""
        prior, oriented = self.law.prior, "left_bias" in self.law.variables
        covariate = None if self.law.votes is None else self.law.votes.covariate
        return pair_cells(self.law.cells.law.code, self.codes, answers, prior.n_raters, oriented, covariate)

    def named(self, theta: np.ndarray) -> Values:
        """Return draws by the names of the free variables."""
        values = values_of(theta, self.law.prior)
        return {str(rv.name): values[role] for role, rv in self.law.variables.items()}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Find the Laplace centre, tune the step sizes and run one chain."""
        model = (self.told(answers), self.law.prior)
        centre = fit_laplace(*model)
        steps = comparison_chains.tuned_steps(model, centre, seed)
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, thin=self.thin)
        return self.named(comparison_chains.draw_comparisons(model, centre, steps, plan)[0][0])

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Make transitions of three HMC trajectories about the Laplace centre of these answers."""
        prior, cells = self.law.prior, self.told(answers)
        centre = fit_laplace(cells, prior)
        own = {role: np.asarray(values[str(rv.name)]) for role, rv in self.law.variables.items()}
        sizes = np.sqrt([prior.n_items, prior.n_raters])  # of means that are known to no variable
        theta = coordinates_of(own, prior, rng.standard_normal(2) / sizes)
        draws = np.empty((moves, len(theta)))
        schedule = laplace_hmc.HmcSchedule(0, 3, centre.open_scales, centre.second_mode is not None)
        laplace_hmc.sample_pairs(stream(rng), (cells, prior), centre.laplace, schedule, (theta, draws))  # fmt: skip
        return {name: x[0] for name, x in self.named(draws[-1:]).items()}


def chains_of(name: str) -> type[Chains]:
    """Return the class of the sampler of a model."""
    others: dict[str, type[Chains]] = {
        "bradley_terry": PairChains,
        "correlated_votes": VoteChains,
        "cultural_consensus": ConsensusChains,
        "dawid_skene_with_time": WalkChains,
        "ebcc": SubtypeChains,
        "hierarchical_scores": ScoreChains,
        "hierarchical_scores_with_features": ScoreChains,
        "item_response": ResponseChains,
        "item_states": StateChains,
        "multi_label": TagChains,
        "one_coin_with_time": WalkChains,
        "ordinal": ThresholdChains,
        "plackett_luce": WorthChains,
        "shared_guess": GuessChains,
        "taxonomic": TreeChains,
        "thurstone": PairChains,
    }
    return others.get(name, LabelChains)
