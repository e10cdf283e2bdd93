"""Rankings among what was shown: laws by enumeration, samplers against quadrature, maximum likelihood against choix."""

from itertools import permutations

import choix
import numpy as np
import pytest
from arviz_stats.base import array_stats
from raterzoo import evaluation, inference, models

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, mc_z, seed_of

NAMES = [*"xyz"]
QUIET = {"progressbar": False}


def p_by_orders(worth, blocks, shown):
    """Probability of a ranking: the sum over the orders of all shown that agree with its blocks, the rest last."""
    number = {k: b for b, block in enumerate(blocks) for k in block}
    last, total = len(blocks), 0.0
    for order in permutations(shown):
        places = [number.get(k, last) for k in order]
        if places == sorted(places):
            p = 1.0
            for j in range(len(order)):
                p = p * worth[order[j]] / sum(worth[k] for k in order[j:])
            total = total + p
    return total


def random_annotation(rng, n):
    """Blocks and the set shown, of two or more of n categories."""
    shown = rng.permutation(n)[: rng.integers(2, n + 1)]
    blocks, left = [], [*map(int, shown)]
    for _ in range(rng.integers(1, 3)):
        size = rng.integers(1, 3)
        if left[:size]:
            blocks.append(left[:size])
        left = left[size:]
    return blocks, sorted(map(int, shown))


def as_rankings(problems, names, shown=True):
    """Each problem, a list of annotations, is an item."""
    nested = {
        f"item {i}": {f"r{r}": [[names[k] for k in block] for block in blocks] for r, (blocks, _) in enumerate(own)}
        for i, own in enumerate(problems)
    }  # fmt: skip
    sets = {
        f"item {i}": {f"r{r}": [names[k] for k in seen] for r, (_, seen) in enumerate(own)}
        for i, own in enumerate(problems)
    }
    return models.PartialRankings.from_blocks(nested, categories=names, shown=sets if shown else None)


# --- Laws ---


@pytest.mark.parametrize("candidates", ["ranked", "all"])
@pytest.mark.parametrize("unranked", ["pooled", "dropped"])
def test_log_likelihood_of_each_annotation_is_that_of_its_set(candidates, unranked):
    if candidates == "all" and unranked != "pooled":
        return
    rng = np.random.default_rng(3)
    names = [*"abcde"]
    problems = [[random_annotation(rng, 5) for _ in range(4)] for _ in range(3)]
    data = as_rankings(problems, names)
    power = 1.7
    for build, exponent in ((models.plackett_luce, 1.0), (models.tempered_plackett_luce, power)):
        options = {"reliability": power} if exponent != 1 else {}
        model = build(data, candidates=candidates, unranked=unranked, **options)
        size = model["worth"].eval().shape
        worth = rng.gamma(1.0, size=size)
        found = model.compile_fn(model.logp(model.observed_RVs, sum=False)[0], inputs=model.value_vars)
        log_p = found({model.rvs_to_values[model["worth"]].name: np.log(worth)})
        expected = []
        for i, own in enumerate(problems):
            if candidates == "all":
                of_item = dict(enumerate(worth[i]))
            else:
                at = model["candidate_item"].get_value() == i
                codes = model["candidate_category"].get_value()[at]
                of_item = dict(zip(codes.tolist(), worth[at], strict=True))
            tempered = {k: w**exponent for k, w in of_item.items()}
            expected += [np.log(p_by_orders(tempered, blocks, shown)) for blocks, shown in own]
        np.testing.assert_allclose(log_p, expected, rtol=1e-9, atol=1e-12)


def test_best_and_worst_are_blocks_around_a_tie():
    worth = np.array([1.0, 0.4, 2.0, 0.7, 3.0])
    shown, best, worst = [0, 1, 2, 3], 2, 1
    total = 0.0  # P(best first, worst last), by the orders of the two between
    for a, b in ((0, 3), (3, 0)):
        own = worth[[best, a, b, worst]]
        total += np.prod([own[j] / own[j:].sum() for j in range(3)])
    nested, sets = [[[[best], [0, 3], [worst]]]], [[shown]]
    data = models.PartialRankings.from_blocks(nested, shown=sets, categories=range(5))
    model = models.plackett_luce(data, candidates="all")
    log_p = model.compile_fn(model.logp(model.observed_RVs, sum=False)[0], inputs=model.value_vars)
    found = log_p({model.rvs_to_values[model["worth"]].name: np.log(worth)[None]})
    np.testing.assert_allclose(found, [np.log(total)], rtol=1e-10)


# --- Posteriors against quadrature ---


def exact_moments(annotations, alpha, reliability=1):
    """First and second moments of three plausibilities, by the trapezoid rule over two log ratios."""
    u, v = np.meshgrid(*2 * [np.arange(-30 / min(alpha, 1), 30 / min(alpha, 1), 0.4)], indexing="ij")
    logits = np.stack([u, v, np.zeros_like(u)])
    logits -= logits.max(axis=0)
    p = np.exp(logits) / np.exp(logits).sum(axis=0)
    log_density = alpha * np.log(p).sum(axis=0)
    for blocks, shown in annotations:
        log_density = log_density + reliability * np.log(p_by_orders(p, blocks, shown))
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    return np.concatenate([(p * weight).sum(axis=(1, 2)), (p**2 * weight).sum(axis=(1, 2))])


def problem(number):
    """Annotations of one item; of every third most agree on a leader, who is not shown to all."""
    rng = np.random.default_rng(seed_of(f"shown {number}"))
    annotations = [random_annotation(rng, 3) for _ in range(rng.integers(2, 6))]
    if number % 3 == 0:
        annotations += [([[0]], [0, 1])] * 4 + [([[0], [2]], [0, 1, 2])] * 3 + [([[1]], [1, 2])]
    if number % 4 == 1:  # z is shown to nobody
        annotations = [([[0]], [0, 1]), ([[0]], [0, 1]), ([[1]], [0, 1])]
    return annotations, (0.3, 1.0, 3.0)[number % 3], 1 + number % 2


def moments_of(annotations, alpha, reliability, seed, *, shown=True, method="gibbs", candidates="all"):
    data = as_rankings([annotations], NAMES, shown)
    model = models.plackett_luce(data, concentration=alpha, reliability=reliability, candidates=candidates)
    draws = {"draws": 4000, "thin": 2} if method == "gibbs" else {"draws": 2000, "target_accept": 0.95}
    with np.errstate(all="ignore"):
        tree = inference.sample(
            model, method=method, random_seed=seed, dtype="float64", log_likelihood=False, **draws, **QUIET
        )
    p = tree["posterior"]["plausibility"].to_numpy()
    if p.ndim == 4:
        p = p[:, :, 0]
    else:  # OTHER, the one that nobody saw, is last
        code = model["candidate_category"].get_value()
        missing = set(range(3)) - set(code.tolist())
        p = p[:, :, np.argsort([k if k >= 0 else missing.pop() for k in code.tolist()])]
    return np.concatenate([p, p**2], axis=2)


@pytest.mark.parametrize("number", range(12))
def test_gibbs_equals_quadrature_in_both_layouts(number):
    annotations, alpha, reliability = problem(number)
    exact = exact_moments(annotations, alpha, reliability)
    for candidates in ("all", "ranked"):
        z = mc_z(
            moments_of(
                annotations, alpha, reliability, seed_of(f"{number} {candidates}"), candidates=candidates
            ),
            exact,
        )
        assert np.abs(z).max() < bonferroni_threshold(24 * 6)  # fmt: skip


def test_quadrature_rejects_sets_that_are_left_out():
    worst = 0.0
    for number in (0, 3):
        annotations, alpha, reliability = problem(number)
        found = moments_of(annotations, alpha, reliability, seed_of(f"twin {number}"), shown=False)
        worst = max(worst, np.abs(mc_z(found, exact_moments(annotations, alpha, reliability))).max())
    assert worst > 4 * bonferroni_threshold(24 * 6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("candidates", ["all", "ranked"])
def test_nuts_equals_quadrature(candidates):
    annotations, alpha, reliability = problem(11)
    found = moments_of(annotations, alpha, reliability, seed_of("nuts"), method="nuts", candidates=candidates)
    z = mc_z(found, exact_moments(annotations, alpha, reliability))
    assert np.abs(z).max() < bonferroni_threshold(12)


def test_a_category_that_nobody_was_shown_keeps_its_prior():
    data = as_rankings([[([[0]], [0, 1])] * 3], [*"xyzuv"])
    model = models.plackett_luce(data, concentration=0.5)
    assert model["candidate_category"].get_value().tolist() == [0, 1, -1]
    tree = inference.sample(model, draws=4000, random_seed=seed_of("prior"), dtype="float64", **QUIET)
    other = tree["posterior"]["plausibility"].to_numpy()[:, :, 2:]
    mean, total = 1.5 / 2.5, 2.5  # Dirichlet(.5 x 5): a Beta(1.5, 1) for the three that nobody saw
    z = mc_z(np.concatenate([other, other**2], axis=2), np.array([mean, mean * (1.5 + 1) / (total + 1)]))
    assert np.abs(z).max() < bonferroni_threshold(2)


# --- Draws by raters of unequal reliability, and with predictions, against NUTS ---


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["hierarchical_plackett_luce", pytest.param("predictions", marks=pytest.mark.long)]
)
def test_other_samplers_agree_with_nuts(name):
    options = {"items": 4, "categories": 4, "raters": 4, "block_sizes": (1, 1), "shown": 3, "random_seed": 5}
    data = models.simulators.rankings(**options).data
    if name == "predictions":
        rng = np.random.default_rng(1)
        rows = {"item": np.repeat(data.items, 4), "category": np.tile(data.categories, 4)}
        predicted = evaluation.predictions_from_table(
            rows | {"score": rng.dirichlet(np.ones(4), 4).ravel()}, score="score"
        )
        model = models.plackett_luce(data, concentration=1.0, prior_predictions=predicted, candidates="all")
    else:
        model = models.hierarchical_plackett_luce(data, candidates="all")
    gibbs = inference.sample(model, method="gibbs", draws=3000, random_seed=1, dtype="float64", **QUIET)
    nuts = inference.sample(model, method="nuts", draws=1500, random_seed=2, target_accept=0.95, **QUIET)

    def moments(tree):
        p = tree["posterior"]["plausibility"].to_numpy()
        return p.reshape(*p.shape[:2], -1)

    def check(found):
        z = difference(found, moments(nuts))
        assert np.abs(z).max() < bonferroni_threshold(z.size)

    check(moments(gibbs))
    assert_rejects_twin(check, moments(gibbs)[..., ::-1])


def difference(one, other):
    """Standardised difference of the means of two sets of draws (chain, draw, quantity)."""
    errors = [array_stats.mcse(own, chain_axis=0, draw_axis=1, method="mean") for own in (one, other)]
    return (one.mean((0, 1)) - other.mean((0, 1))) / np.sqrt(errors[0] ** 2 + errors[1] ** 2)


# --- Maximum likelihood against choix ---


def tastings(seed=0, raters=120):
    """Three of six wines are shown to each taster, the best to few, and all three are ranked."""
    rng, worth = np.random.default_rng(seed), np.exp([2.5, 1, 0.5, 0, -0.5, -1])
    found = []
    for rater in range(raters):
        shown = rng.choice(np.arange(1, 6), 3, replace=False)
        shown[0] = 0 if rater < 15 else shown[0]
        found.append(shown[np.argsort(-np.log(worth[shown]) - rng.gumbel(size=3))].tolist())
    return found


def test_maximum_likelihood_of_ranked_sets_is_that_of_choix():
    ranked = tastings()
    data = as_rankings([[([[k] for k in own], own) for own in ranked]], [*"abcdef"])
    found = inference.plackett_luce_mle(data)
    peer = np.exp(choix.ilsr_rankings(6, ranked, max_iter=1000, tol=1e-12))
    np.testing.assert_allclose(found["plausibility"], peer / peer.sum(), rtol=1e-6)
    assert found["attained"].all()
    with pytest.warns(models.DataWarning):  # the wrong twin: as if all six had been shown
        twin = inference.plackett_luce_mle(
            as_rankings([[([[k] for k in own], own) for own in ranked]], [*"abcdef"], shown=False)
        )
    assert twin["plausibility"].to_numpy().argmax() != 0 and found["plausibility"].to_numpy().argmax() == 0  # fmt: skip


def test_maximum_likelihood_of_choices_is_that_of_choix():
    rng = np.random.default_rng(1)
    worth, choices = rng.gamma(1.0, size=7), []
    for _ in range(150):
        shown = rng.choice(7, rng.integers(2, 6), replace=False)
        won = int(rng.choice(shown, p=worth[shown] / worth[shown].sum()))
        choices.append((won, [k for k in shown.tolist() if k != won]))
    blocks = [[[winner]] for winner, _ in choices]
    data = models.PartialRankings.from_blocks(
        [blocks], shown=[[[winner, *losers] for winner, losers in choices]]
    )
    found = inference.plackett_luce_mle(data)["plausibility"]
    peer = np.exp(choix.ilsr_top1(7, choices, max_iter=1000, tol=1e-12))
    np.testing.assert_allclose(found, peer / peer.sum(), rtol=1e-6)


def test_groups_that_nobody_saw_together_are_told():
    data = as_rankings([[([[0]], [0, 1]), ([[1]], [0, 1]), ([[2]], [2, 3])]], [*"abcd"])
    with pytest.warns(models.DataWarning, match="'a' and 'c'"):
        found = inference.plackett_luce_mle(data)["plausibility"].to_numpy()
    np.testing.assert_allclose(found, [0.25, 0.25, 0.5])


@pytest.mark.parametrize("average", [inference.irn, models.prirn])
def test_averages_of_inverse_ranks_refuse_sets(average):
    data = as_rankings([[([[0]], [0, 1])]], NAMES)
    with pytest.raises(models.DataError) as caught:
        average(data)
    assert "plackett_luce" in caught.value.remedy
