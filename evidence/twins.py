"""Wrong twins: samplers with one seeded bug each, and the evidence that has to catch it; placebos, which it must not.

Graded twins have one shape or concentration too large by `DOSE`. Placebos are changed in the same way as the others, but compute
the same: evidence that catches one of them would catch anything.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pymc as pm
from pymc.distributions.transforms import LogTransform
from raterzoo import models
from raterzoo.models._item_features import FeatureDirections

from tests.support.source_twins import in_place_of, rebuilt

from . import designs, studies
from .studies import FEW_DATA, WEAK, WEAK_ROWS

__all__ = ["DOSE", "REPEATED", "TWINS", "Kind", "Twin"]

Link = tuple[Any, ...]
"""Name of a function of the package, and pairs of texts to replace in its source."""
Kind = Literal["calibration", "invariance", "joint", "few data", "closed form", "power"]


DOSE = 0.1  # of graded twins


@dataclass(frozen=True)
class Twin:
    """A sampler with one seeded bug, or a placebo.

    Attributes
    ----------
    bug : str
        Description of the bug.
    study, method : str
        Sampler that has the bug.
    kind : str
        Kind of evidence that must reject the twin.
    links : tuple of Link
        Changed functions and their changes, see `rebuilt`.
    told : callable, optional
        Returns the model that the sampler is given in place of the study's.
    spoil : callable, optional
        Change of the annotations that the sampler is given.
    placebo : bool
        Whether the change changes nothing, so that the evidence must not reject the twin.
    """

    bug: str
    study: str
    method: str
    kind: Kind
    links: tuple[Link, ...] = ()
    told: Callable[[], pm.Model] | None = None
    spoil: Callable[[np.ndarray], np.ndarray] | None = None
    placebo: bool = False

    @property
    def name(self) -> str:
        """Study and bug."""
        return f"{self.study}: {self.bug}"


class NoJacobian(LogTransform):
    """Log transform without its Jacobian."""

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return zero."""
        return 0.0 * value


def _without_jacobian() -> pm.Model:
    model = models.plackett_luce(designs.rankings(), concentration=0.5, candidates="all")
    model.rvs_to_transforms[model.free_RVs[0]] = NoJacobian()
    return model


class NoVolume(FeatureDirections):
    """Coordinates of effects without their Jacobian."""

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return zero."""
        return 0.0 * super().log_jac_det(value, *inputs)


def _with_features(features: Any = None, *links: Link) -> pm.Model:
    """Return the model of the study with features, by default those of the study, built while functions are changed."""
    own = designs.features() if features is None else features
    with in_place_of(rebuilt(*links)) if links else nullcontext():
        return models.dawid_skene(designs.labels(3), features=own, prevalence_concentration=2.0)


def _without_volume() -> pm.Model:
    model = _with_features()
    directions = NoVolume.__new__(NoVolume)
    directions.__dict__.update(vars(model.rvs_to_transforms[model["feature_effect"]]))
    model.rvs_to_transforms[model["feature_effect"]] = directions
    return model


def _first_like_second(answers: np.ndarray) -> np.ndarray:
    told = answers.copy()
    told[0] = told[1]
    return told


def _turned(answers: np.ndarray) -> np.ndarray:
    """Exchange left and right in the first votes."""
    told = answers.copy()
    told[:2, :2] = told[:2, 1::-1]
    return told


def _strong_as_weak(answers: np.ndarray) -> np.ndarray:
    """Exchange the strengths of the votes for the left item."""
    return answers[:, [1, 0, 2, 3]]


def _the_same(answers: np.ndarray) -> np.ndarray:
    return answers.copy()


def _without_first_rater(answers: np.ndarray) -> np.ndarray:
    """Forget the votes of the first rater."""
    told = answers.copy()
    told[: len(told) // 3] = 0
    return told


def _labels(bug: str, study: str, kind: Kind, link: Link) -> Twin:
    return Twin(bug, study, "gibbs", kind, (link,))


def _scores(bug: str, kind: Kind, link: Link) -> Twin:
    return Twin(bug, "hierarchical_scores", "gibbs", kind, (link,))


def _regression(bug: str, kind: Kind, link: Link) -> Twin:
    return Twin(bug, "hierarchical_scores_with_features", "gibbs", kind, (link,))


def _pairs(bug: str, kind: Kind, link: Link, study: str = "bradley_terry") -> Twin:
    return Twin(bug, study, "hmc", kind, (link,))


def _ratings(bug: str, kind: Kind, *links: Link) -> Twin:
    return Twin(bug, "hierarchical_plackett_luce", "gibbs", kind, links)


def _predicted(bug: str, model: str, kind: Kind, *links: Link) -> Twin:
    return Twin(bug, f"{model}_with_predictions", "gibbs", kind, links)


def _normal(bug: str, link: Link) -> Twin:
    return Twin(bug, "normal_scores", "exact", "closed form", (link,))


def _dosed(what: str, study: str, function: str, line: str) -> Twin:
    """Return the twin by a function in which `line` has a dose added; there the dose is written as ``{}``."""
    change = (line.format(""), line.format(f" + {DOSE}"))
    return Twin(f"{what} + {DOSE}", study, "gibbs", "few data", ((function, change),))


def _graded(what: str, study: str, **priors: Any) -> Twin:
    """Return the twin that is told other priors of the model of few data."""
    few = FEW_DATA[study]
    return Twin(
        f"{what} + {DOSE}",
        study,
        "gibbs",
        "few data",
        told=lambda: getattr(models, few.model or study)(few.data(), **priors),
    )


def _placebo(what: str, study: str, method: str, kind: Kind, link: Link) -> Twin:
    return Twin(what, study, method, kind, (link,), placebo=True)


RATERS = "for a in range(len(scores.score)):\n        k = scores.rater[a]\n        seen"

OF_LABELS = (
    _labels("rows have an answer too many", "dawid_skene", "joint",
            ("_draw_row", ("concentration[row, j] + counts[row, j]", "concentration[row, j] + counts[row, j] + 1.0"))),
    _labels("an item is not taken out of the counts", "dawid_skene", "invariance",
            ("draw_distinct_pair", ("_count(answers, i, truth, REMOVED)\n            category[i] = new", "category[i] = new"))),
    _labels("totals of answers are stale", "dawid_skene", "invariance",
            ("_count", ("totals[row // n, j] += by", "totals[row // n, j] += 0"))),
    _labels("the last answer of an item is off by one", "dawid_skene", "joint",
            ("_count", ("answers.start[item], answers.start[item + 1]", "answers.start[item], answers.start[item + 1] - 1"))),
    _labels("the collapsed sweep has another prior of the prevalence", "dawid_skene", "calibration",
            ("draw_distinct_pair", ("prior.prevalence[0] + (items[0] + j - 1), prior.prevalence[1]",
                                    "0.2 + (items[0] + j - 1), 0.2"))),
    Twin("a prior with .7 more of everything", "dawid_skene", "gibbs", "calibration",
         told=lambda: models.dawid_skene(
             designs.labels(), prevalence_concentration=2.7, confusion_concentration=[[5.5, 3.9], [3.9, 5.5]])),
    Twin("told another correlation of the votes", "correlated_votes", "gibbs", "calibration",
         told=lambda: models.correlated_votes(
             designs.labels(), prevalence_concentration=2.0, confusion_concentration=None, vote_correlation=(3.0, 3.0))),
    _labels("a wrong answer counts twice", "one_coin", "invariance",
            ("_draw_abilities", ("wrong += counts[row, j]", "wrong += 2 * counts[row, j]"))),
    _labels("counts of one category are carried to the next", "class_conditional", "invariance",
            ("_draw_abilities", ("if prior.kind == ABILITIES:\n            right, wrong = 0, 0",
                             "if prior.kind == COMPETENCE:\n            right, wrong = 0, 0"))),
    Twin("two draws from the same random numbers", "multinomial", "gibbs", "invariance",
         (("_chain_of", ("draw_prevalence(rng, prior", "draw_prevalence(rng.copy(), prior")), ("sample_rows",))),
    _labels("every true answer is the competence's", "mace", "invariance",
            ("_spam_density", ("right[k] * math.log(theta + spam[k])", "right[k] * math.log(theta)"))),
    _labels("the prior of the spam is that of its mass", "mace", "joint",
            ("exchange_spam", ("power -= concentration[row, 0]", "power -= 0.0"))),
    _labels("items are counted by category alone", "ebcc", "joint",
            ("_count_states", ("items[s // n_subtypes, s % n_subtypes] += 1", "items[s // n_subtypes, 0] += 1"))),
    _labels("all subtypes have the prevalence of the category", "ebcc", "invariance",
            ("_draw_states", ("prevalence[j] * weight[j, m]", "prevalence[j]"))),
    Twin("rows with half the concentration", "ebcc", "gibbs", "calibration",
         told=lambda: models.ebcc(
             designs.labels(), subtypes=2, prevalence_concentration=2.0, confusion_concentration=[[2.4, 1.6], [1.6, 2.4]])),
    _labels("moves of contested truths have half their prior", "cultural_consensus", "invariance",
            ("_move_joint", ("other += prior.joint[c]", "other += 0.5 * prior.joint[c]"))),
    _labels("wrong answers are those by the first truth", "cultural_consensus", "joint",
            ("_draw_raters", ("(rng, prior.wrong[k] + wrong)",
                              "(rng, prior.wrong[k] + items.start[k + 1] - items.start[k] - right[k, 0])"))),
    Twin("told that truths overlap less", "cultural_consensus", "gibbs", "calibration",
         told=lambda: models.cultural_consensus(designs.labels(), overlap_concentration=(2.0, 2.0))),
    _labels("answers to all tags are those to the first", "multi_label", "joint",
            ("_count", ("+ ((said >> t) & 1), true] += 1", "+ (said & 1), true] += 1"))),
    _labels("sets of half the items are told to the weights", "multi_label", "invariance",
            ("_draw_weights", ("float(items), prior.mean[j]", "0.5 * items, prior.mean[j]"))),
    Twin("told that tags go together", "multi_label", "gibbs", "calibration",
         told=lambda: models.multi_label(
             designs.tag_labels(), log_odds_ratio=(2.0, 1.0), skill_concentration=(6.0, 6.0), strength=(2.5, 0.5))),
    _labels("the moved abilities leave their prior out", "item_response", "invariance",
            ("_moved_density", ("log_p -= 0.5 * (((state.ability[m]", "log_p -= 0.0 * (((state.ability[m]"))),
    _labels("the difficulties keep their first spread", "item_response", "joint",
            ("_begin_table", ("(prior.difficulty[d] / spread)", "(prior.difficulty[d] / 1.0)"))),
    Twin("a key told less reliable", "item_response", "gibbs", "calibration",
         told=lambda: models.item_response(
             designs.labels(3, 12), key_makers=(0,), prevalence_concentration=2.0, ability=(0.5, 1.0),
             key_reliability=(8.0, 4.0))),
    _labels("the stretch of the scale forgets the items", "ordinal", "invariance",
            ("_stretched_density", ("(n_items + 2.0) * x", "2.0 * x"))),
    _labels("a spread moves its raters without a Jacobian", "ordinal", "joint",
            ("_moved_density", ("log_p = x - 0.5", "log_p = -0.5"))),
    _labels("raters miss the difference of two thresholds", "ordinal", "calibration",
            ("_between", ("total += number[place]", "total += 0.0 * number[place]"))),
    Twin("the same random numbers in every chain", "dirichlet", "exact", "closed form",
         (("streams_of_items", ("spawn_key=(c,)", "spawn_key=(0,)")),)),
    Twin("items go on from the stream of the first", "dirichlet", "exact", "closed form",
         (("draw_dirichlet_items", ("load_stream(streams, i, rng)", "load_stream(streams, 0, rng)")),)),
    Twin("concentrations + .1", "dirichlet", "exact", "closed form",
         told=lambda: models.dirichlet(designs.many_labels(5), concentration=0.8)),
    Twin("another reliability", "dirichlet", "exact", "calibration",
         told=lambda: models.dirichlet(designs.many_labels(1000), concentration=0.7, reliability=2.0)),
    Twin("multiplicities of the patterns are forgotten", "item_states", "gibbs", "invariance",
         (("_allocate", ("+= parts[j] * patterns.counts[p, c]", "+= min(parts[j], 1) * patterns.counts[p, c]")),)),
    Twin("items are counted by their labels", "item_states", "gibbs", "calibration",
         (("_allocate", ("items[j] += parts[j]", "items[j] += parts[j] * patterns.counts[p].sum()")),)),
    Twin("another prior of the population", "hierarchical_dawid_skene", "nuts", "calibration",
         told=lambda: models.hierarchical_dawid_skene(designs.labels(), diagonal=4.0)),
    Twin("abilities that vary more", "glad", "nuts", "invariance",
         told=lambda: models.glad(designs.labels(2, 12), ability=(2.0, 1.2))),
)  # fmt: skip

OF_GUESSES = (
    _labels("a copied answer is counted for the rater, too", "shared_guess", "invariance",
            ("draw_copies", ("+= counts.copied[row, j] - copied", "+= counts.copied[row, j]"))),
    _labels("all groups have one guess", "shared_guess", "invariance",
            ("draw_latents", ("guessed[g] == label", "guessed[0] == label"))),
    _labels("the share is that of answers not copied", "shared_guess", "invariance",
            ("draw_shares", ("math.exp(log_own - log_copied)", "math.exp(log_copied - log_own)"))),
    _labels("every answer that equals the guess is a copy", "shared_guess", "joint",
            ("draw_copies", ("uniform(rng) < share", "share >= 0.0"))),
    _labels("guesses do not look at the answers", "shared_guess", "joint",
            ("draw_latents", ("category_at(space.posterior[g, j], uniform(rng))", "category_at(law.guess[g, j], uniform(rng))"))),
    _labels("guesses of another category are counted", "shared_guess", "invariance",
            ("draw_latents", ("counts.guesses[g, j, guessed[g]] += 1", "counts.guesses[g, 0, guessed[g]] += 1"))),
    Twin("told another prior of the shares", "shared_guess", "gibbs", "calibration",
         told=lambda: models.shared_guess(
             designs.grouped_labels(2, 12), "kind", "person", prevalence_concentration=2.0, shared_concentration=(3.5, 1.5))),
    Twin("told a larger size of the law of the shares", "shared_guess_with_random_shares", "nuts", "calibration",
         told=lambda: studies.guesses_with_random_shares(designs.grouped_labels(2, 12), 32.0)),
)  # fmt: skip

FEATURED = "dawid_skene_with_features"
LOG_ODDS = "log_odds = pt.log(prevalence) + pt.dot(values, effect)"

OF_FEATURES = (
    Twin("features of the next item", FEATURED, "nuts", "calibration",
         told=lambda: _with_features(designs.features().roll(item=1, roll_coords=False))),
    Twin("effects of the other sign", FEATURED, "nuts", "calibration", told=lambda: _with_features(-designs.features())),
    Twin("the prior is left out of the law", FEATURED, "nuts", "calibration",
         told=lambda: _with_features(None, ("prior_of_truth", (LOG_ODDS, LOG_ODDS.replace("pt.dot(", "0.0 * pt.dot("))))),
    Twin("effects without their Jacobian", FEATURED, "nuts", "invariance", told=_without_volume),
)  # fmt: skip

OF_SCORES = (
    _scores("shape + 1", "invariance",
            ("draw_raters", ("_gamma(rng, nu + 0.5 * count[k])", "_gamma(rng, nu + 1.0 + 0.5 * count[k])"))),
    _scores("locations do not follow the mean", "invariance",
            ("draw_raters", ("state.location[i] += shift", "state.location[i] += 0.0"))),
    _scores("biases do not follow the mean", "joint", ("draw_raters", ("+ state.bias[k] - shift -", "+ state.bias[k] -"))),
    _scores("a dropped rater", "calibration",
            ("draw_raters", (RATERS, RATERS.replace("seen", "if k == 0:\n            continue\n        seen")))),
    _scores("the log shape without its Jacobian", "invariance",
            ("_shape_density", ("a * slope + power * x", "a * slope + (power - 1.0) * x"),
             ("a * first + power,", "a * first + power - 1.0,"))),
    _regression("effects do not know that locations vary beside them", "invariance",
                ("draw_regression", ("shrunk = 1.0 / (1.0 + weight[i] * between)", "shrunk = 1.0"))),
    Twin("features of the next item", "hierarchical_scores_with_features", "gibbs", "calibration",
         told=lambda: studies.scores_with_features(designs.scores(), designs.features(7).roll(item=1, roll_coords=False))),
    _normal("the mean weight is missing", ("_to_items", ("location[i] * sigma * width[i]", "location[i] * sigma"))),
    _normal("a Gamma in place of the inverse Gamma",
            ("_to_items", ("sigma2 = posterior.rate[i] / variance[i]", "sigma2 = variance[i] / posterior.rate[i]"))),
    _normal("the location has the normal variable of the variance",
            ("_propose", ("normal[i] = radius * far", "normal[i] = radius * near"))),
    _normal("the same random numbers for every item",
            ("item_streams", ("mixed = _splitmix(keys[i])", "mixed = _splitmix(keys[0])"))),
    Twin("shape + .4", "normal_scores", "exact", "calibration",
         told=lambda: models.normal_scores(designs.many_scores(1000), mean=1.5, mean_weight=0.4, shape=2.1, rate=0.9)),
)  # fmt: skip

OF_RANKINGS = (
    Twin("shape + .3", "plackett_luce", "gibbs", "calibration",
         told=lambda: models.plackett_luce(designs.rankings(), concentration=0.8, candidates="all")),
    Twin("the full race of all in place of the ranked", "plackett_luce", "gibbs", "invariance",
         (("_race", ("            exposure[member[q]] += elapsed\n",
                     "            exposure[member[q]] += elapsed + standard_gamma(rng, 1.0) / worth[member[q]]\n")),)),
    Twin("the total remembers who was ranked", "plackett_luce", "gibbs", "joint",
         (("_draw_total",
           ("total_shape += shape[first + k]", "total_shape += shape[first + k] + posterior.wins[first + k]")),)),
    Twin("one annotation is read twice, another never", "plackett_luce", "gibbs", "calibration", spoil=_first_like_second),
    Twin("told that other sets were shown", "plackett_luce_with_shown_sets", "gibbs", "calibration",
         told=lambda: models.plackett_luce(designs.shown_rankings(seed=2), concentration=0.5, candidates="all")),
    Twin("log worths without their Jacobian", "plackett_luce", "nuts", "invariance", told=_without_jacobian),
    Twin("reliability 2", "tempered_plackett_luce", "nuts", "calibration",
         told=lambda: models.tempered_plackett_luce(designs.rankings(), concentration=0.5, candidates="all", reliability=2.0)),
    Twin("ties take their whole weight", "prirn", "exact", "closed form",
         told=lambda: models.prirn(designs.rankings(5), reliability=3.0, smoothing=0.2, tie_weight="full")),
)  # fmt: skip

OF_RATERS_OF_RANKINGS = (
    _ratings("worths have the reliability of another rater", "invariance",
             ("move_worths", ("log_reliability[rankings.rater[a]]", "log_reliability[rankings.rater[begin]]"))),
    _ratings("races are not censored", "invariance",
             ("move_worths",
              ("offset[k, a - begin] = track.log_rate[j]",
               "offset[k, a - begin] = track.log_rate[j] if races.wins[of_race + j] > 0.0 else log_add("
               "track.log_rate[j], math.log(-math.log(uniform(rng))) - own * log_worth[k])"))),
    _ratings("candidates that are not ranked are left out of the reliabilities", "joint",
             ("_log_p_of_order",
              ("log_racing = log_add(log_racing, own)",
               "log_racing = log_add(log_racing, own) if j < n_ranked else log_racing"))),
    _ratings("worths are multiplied without a Jacobian", "invariance",
             ("_reliability_density", ("+ (start[-1] - len(start) + 1) * d / n_raters", "+ 0.0"))),
    _ratings("the log spread without its Jacobian", "joint",
             ("_spread_density", ("return x - 0.5", "return -0.5")),
             ("_spread_of_all_density", ("value = x - 0.5", "value = -0.5"))),
    Twin("one ranking is read twice, another never", "hierarchical_plackett_luce", "gibbs", "calibration",
         spoil=_first_like_second),
    Twin("told a larger spread", "hierarchical_plackett_luce", "nuts", "calibration",
         told=lambda: models.hierarchical_plackett_luce(
             designs.rankings(), concentration=0.5, spread=3.0, candidates="all")),
)  # fmt: skip

OF_PREDICTIONS = (
    _predicted("the strength given the races forgets the wins", "plackett_luce", "invariance",
               ("_density_given_races",
                ("value += math.lgamma(shape + wins) - math.lgamma(shape)", "value += 0.0"))),
    _predicted("the strength has no Dirichlet normaliser", "plackett_luce", "joint",
               ("_density_given_worths", ("value += math.lgamma(total)", "value += 0.0"))),
    _predicted("worths keep the shapes of the strength before", "plackett_luce", "calibration",
               ("set_shapes", ("prior.base[c] + strength * prior.slope[c]", "prior.base[c] + prior.slope[c]"))),
    _predicted("the strength forgets how many labels an item has", "dirichlet", "calibration",
               ("_log_p_of_item", ("/ (total + given)", "/ total"))),
    _predicted("plausibilities are drawn without predictions", "dirichlet", "invariance",
               ("draw_predicted_items",
                ("prior + items.power[i]", "items.base[i, k] + items.power[i]"))),
    Twin("told the first covariate of the votes with the other sign", "bradley_terry_with_vote_covariates", "nuts", "calibration",
         told=lambda: studies.votes_with_covariates(designs.comparisons(), -1.0)),
    Twin("told the predictions of other items", "plackett_luce_with_predictions", "nuts", "calibration",
         told=lambda: models.plackett_luce(
             designs.rankings(4), concentration=0.5, candidates="all", prediction_scale=2.0,
             prior_predictions=designs.predictions(designs.rankings(4), 2))),
)  # fmt: skip

OF_SHARING = (
    Twin("told the taste of other raters", "bradley_terry_with_taste", "nuts", "calibration",
         told=lambda: studies.votes_with_taste(designs.many_comparisons(), "bba")),
    Twin("told strong votes as weak ones", "bradley_terry_with_strength", "nuts", "calibration", spoil=_strong_as_weak),
    Twin("told the bias of other raters", "hierarchical_scores_with_shared_bias", "nuts", "calibration",
         told=lambda: studies.scores_with_shared_bias(designs.scores(), "babaa")),
)  # fmt: skip

OF_COMPARISONS = (
    _pairs("the momentum is forgotten when a trial is judged", "invariance",
           ("_transition", ("start = log_p - 0.5 * kinetic", "start = log_p"),
            ("change = log_p_new - 0.5 * kinetic - start", "change = log_p_new - start"))),
    _pairs("a move of a scale forgets how much it stretches", "invariance",
           ("draw_scales", ("change = tried - log_p + (n - 1) * log_c", "change = tried - log_p"))),
    _pairs("a degree of freedom too many", "calibration",
           ("_zero_sum_prior",
            ("gradient[place] += squares * precision - (n - 1)", "gradient[place] += squares * precision - n"),
            ("- (n - 1) * log_scale", "- n * log_scale")), study="thurstone"),
    Twin("the first winners are exchanged", "bradley_terry", "hmc", "calibration", spoil=_turned),
    Twin("a dropped rater", "thurstone", "hmc", "calibration", spoil=_without_first_rater),
    Twin("NUTS is told the first winners exchanged", "bradley_terry", "nuts", "calibration", spoil=_turned),
)  # fmt: skip

REPEATED: dict[str, tuple[str, Callable[[float], pm.Model]]] = {
    "dawid_skene": (
        "concentration of confusion",
        lambda dose: models.dawid_skene(
            designs.labels(2, 5),
            prevalence_concentration=0.8,
            confusion_concentration=[[1.2 + dose, 0.6 + dose], [0.6 + dose, 1.2 + dose]],
        ),
    ),
    "plackett_luce": (
        "shape of worth",
        lambda dose: models.plackett_luce(designs.rankings(1), concentration=0.5 + dose, candidates="all"),
    ),
}
"""Parameters, and models of few data by the dose of the parameter: repeated at the dose that should be caught so often."""

OF_WALKS = (
    _labels("backward draws forget the steps", "dawid_skene_with_time", "invariance",
            ("sample_back", ("drawn[w] = back * drawn[w + 1]", "drawn[w] = 0.0"))),
    _labels("the walk does not move with its step", "one_coin_with_time", "invariance",
            ("move_step", ("x[k, w] = x[k, 0] + step / now * (x[k, w] - x[k, 0])", "x[k, w] += 0.0"))),
    Twin("told another prior of the first window", "one_coin_with_time", "gibbs", "calibration",
         told=lambda: models.one_coin(
             designs.timed_labels(2), prevalence_concentration=2.0, ability_concentration=(7.0, 2.0), time=3)),
)  # fmt: skip

ROWS = np.add(WEAK_ROWS, DOSE)  # larger by a dose, as all priors below
COPIERS = {"groups": "kind", "independent": "person", "confusion_concentration": WEAK_ROWS, **WEAK}
VARIANCES = ("draw_raters", "_gamma(rng, nu + 0.5 * count[k]{})")

GRADED = (
    _graded("rows", "dawid_skene", confusion_concentration=ROWS, **WEAK),
    _graded("prevalence", "dawid_skene", confusion_concentration=WEAK_ROWS, prevalence_concentration=0.9),
    _graded("rows", "correlated_votes", confusion_concentration=ROWS, vote_correlation=(1.2, 0.8), **WEAK),
    Twin("told that the correlation has concentration + 0.1", "correlated_votes", "gibbs", "few data",
         told=lambda: models.correlated_votes(
             designs.labels(2, 5), prevalence_concentration=0.8, confusion_concentration=[[1.2, 0.6], [0.6, 1.2]],
             vote_correlation=(1.3, 0.8))),
    _graded("weights of subtypes", "ebcc", subtypes=2, subtype_concentration=0.8, confusion_concentration=WEAK_ROWS, **WEAK),
    _graded("right answers of populations", "cultural_consensus", ability_concentration=(1.3, 0.6),
            overlap_concentration=(1.2, 0.8), share_concentration=0.7),
    _graded("right answers", "one_coin", ability_concentration=(1.3, 0.6), **WEAK),
    _graded("rows", "dawid_skene_with_time", time=3, confusion_concentration=ROWS, **WEAK),
    _graded("right answers", "one_coin_with_time", time=3, ability_concentration=(1.3, 0.6), **WEAK),
    _graded("skill", "multi_label", skill_concentration=(2.1, 4.0), strength=(3.0, 0.3), log_odds_ratio=(0.5, 0.7)),
    _graded("right keys", "item_response", key_makers=(0,), ability=(0.3, 1.0), key_reliability=(1.3, 0.6), **WEAK),
    _graded("spreads", "ordinal", spread=0.55),
    Twin("told that siblings have concentration + 0.1", "taxonomic", "gibbs", "few data",
         told=lambda: models.taxonomic(designs.tree_labels(5), nearness_concentration=(1.3, 0.7), **studies.ABILITIES)),
    _graded("wrong answers", "class_conditional", ability_concentration=(1.2, 0.7), **WEAK),
    _graded("competence", "mace", competence_concentration=(1.2, 0.7), spam_concentration=0.8, **WEAK),
    _graded("copies", "shared_guess", shared_concentration=(1.3, 0.8), guess_concentration=WEAK_ROWS, **COPIERS),
    _graded("guesses", "shared_guess", shared_concentration=(1.2, 0.8), guess_concentration=ROWS, **COPIERS),
    _graded("spam", "mace", competence_concentration=(1.2, 0.6), spam_concentration=0.9, **WEAK),
    Twin("told that rows have concentration + 0.1", "multinomial", "gibbs", "few data",
         told=lambda: models.multinomial(designs.labels(3, 5), prevalence_concentration=0.8, confusion_concentration=0.7)),
    _graded("weights and probabilities", "item_states", states=2, weight_concentration=0.9, probability_concentration=0.7),
    _dosed("shape of the variances", "hierarchical_scores", *VARIANCES),
    _dosed("shape of the variances", "hierarchical_scores_with_features", *VARIANCES),
    _graded("shape", "plackett_luce", concentration=0.6, candidates="all"),
    Twin("told that the shape is 0.1 larger", "plackett_luce_with_predictions", "gibbs", "few data",
         told=lambda: studies.predicted_rankings(designs.rankings(2), 0.6)),
    Twin("told that the shape is 0.1 larger", "plackett_luce_with_shown_sets", "gibbs", "few data",
         told=lambda: models.plackett_luce(designs.shown_rankings(1), concentration=0.6, candidates="all")),
    Twin("told that concentrations are 0.1 larger", "dirichlet_with_predictions", "gibbs", "few data",
         told=lambda: studies.predicted_labels(designs.few_labels(3), 0.8)),
    Twin("told that the shape is 0.1 larger", "hierarchical_plackett_luce", "gibbs", "few data",
         told=lambda: models.hierarchical_plackett_luce(designs.rankings(1), concentration=0.6, candidates="all")),
    Twin("told that the shape is 0.1 larger", "normal_scores", "exact", "closed form",
         told=lambda: models.normal_scores(designs.many_scores(5), mean=1.5, mean_weight=0.4, shape=1.8, rate=0.9)),
    Twin("told that the smoothing is 0.1 larger", "prirn", "exact", "closed form",
         told=lambda: models.prirn(designs.rankings(5), reliability=3.0, smoothing=0.3)),
)  # fmt: skip

PLACEBOS = (
    _placebo("counts are added in the other order", "dawid_skene", "gibbs", "few data",
             ("_count", ("        labels[row, j] += by\n        totals[row // n, j] += by\n",
                         "        totals[row // n, j] += by\n        labels[row, j] += by\n"))),
    _placebo("concentration + 0.0", "dawid_skene", "gibbs", "joint",
             ("_draw_row", ("concentration[row, j] + counts[row, j]", "concentration[row, j] + counts[row, j] + 0.0"))),
    _placebo("a variable of another name", "mace", "gibbs", "invariance",
             ("draw_competence",
              ("        given = 0\n        for j in range(n):\n            given += counts[row, j]\n"
               "        honest += true\n        answers += given\n",
               "        given, j_of = 0, row\n        for j in range(n):\n            given += counts[j_of, j]\n"
               "        answers += given\n        honest += true\n"))),
    _placebo("shape + 0.0", "plackett_luce", "gibbs", "calibration",
             ("update_worth",
              ("float(shape[first + k] + wins[first + k])", "float(wins[first + k] + shape[first + k] + 0.0)"))),
    _placebo("another order of factors", "hierarchical_scores", "gibbs", "few data",
             ("draw_raters", ("second[k] += residual * residual", "second[k] += 1.0 * residual * residual"))),
    _placebo("the momentum is taken off in the other order", "bradley_terry", "hmc", "invariance",
             ("_transition", ("change = log_p_new - 0.5 * kinetic - start", "change = -start - 0.5 * kinetic + log_p_new"))),
    _placebo("concentrations + 0.0", "dirichlet", "exact", "closed form",
             ("draw_dirichlet_items",
              ("(rng, items.concentration[i, k])", "(rng, items.concentration[i, k] + 0.0)"))),
    Twin("told the same answers", "one_coin", "gibbs", "calibration", spoil=_the_same, placebo=True),
    Twin("told the same model", "plackett_luce", "nuts", "invariance", placebo=True,
         told=lambda: models.plackett_luce(designs.rankings(), concentration=0.5, candidates="all")),
)  # fmt: skip

TWINS: tuple[Twin, ...] = (
    *OF_LABELS, *OF_GUESSES, *OF_WALKS, *OF_FEATURES, *OF_RANKINGS, *OF_RATERS_OF_RANKINGS, *OF_PREDICTIONS, *OF_SHARING,
    *OF_COMPARISONS,
    *OF_SCORES, *GRADED, *PLACEBOS,
)  # fmt: skip
"""All twins; the placebos are last."""
