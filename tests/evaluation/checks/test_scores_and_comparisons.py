"""Checks of scores and comparisons: few false alarms for data of the law, and each misfit is found by its own check."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.checks import comparisons
from raterzoo.evaluation.checks.replicates import Annotations

STUDIES, REPLICATES = 12, 100
MOST_ALARMS = 3  # binomial of 12 studies at .05: more has the probability .002
KIND = np.array(["person"] * 3 + ["model"] * 4)


def tree_of(name, observed, replicates, codes, groups=True, **constants):
    """Tree of annotations and replicates (chain, draw, annotation), as the checks read it."""
    of_raters = {"rater": np.arange(len(KIND))} | ({"kind": ("rater", KIND)} if groups else {})
    dims = ("annotation", "outcome")[: observed.ndim]
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {"rater_effect": (("chain", "draw", "rater"), np.zeros((1, 1, len(KIND))))}, of_raters
            ),
            "observed_data": xr.Dataset({name: (dims, observed)}),
            "posterior_predictive": xr.Dataset({name: (("chain", "draw", *dims), replicates[None])}),
            "constant_data": xr.Dataset(
                {f"annotation_{n}": ("annotation", c) for n, c in codes.items()} | constants
            ),
        }
    )


def score_study(seed, shared=0.0, tail=0.0, own_bias=True, ends=np.inf, groups=True, items=80):
    """Tree of scores of 7 raters: normal about item and rater in the model, with other features in the data."""
    rng, raters = np.random.default_rng(seed), len(KIND)
    item, rater = np.repeat(np.arange(items), raters), np.tile(np.arange(raters), items)
    location, bias = rng.standard_normal(items), 0.5 * rng.standard_normal(raters)
    of_group = shared * rng.standard_normal((items, 2))
    error = 0.5 * rng.standard_normal(len(item)) * np.where(rng.random(len(item)) < tail, 4, 1)
    score = location[item] + bias[rater] + of_group[item, (KIND == "model")[rater].astype(int)] + error
    score = np.clip(score, -ends, ends)
    # the posterior of the two-way law with known spread, about least squares
    mean = score.reshape(items, raters).mean(axis=0) - score.mean() if own_bias else np.zeros(raters)
    residual = score - mean[rater]
    centre = residual.reshape(items, raters).mean(axis=1)
    spread = (residual - centre[item]).std() * np.sqrt(raters / (raters - 1))
    draws = centre + spread / np.sqrt(raters) * rng.standard_normal((REPLICATES, items))
    biases = mean + own_bias * spread / np.sqrt(items) * rng.standard_normal((REPLICATES, raters))
    replicates = draws[:, item] + biases[:, rater] + spread * rng.standard_normal((REPLICATES, len(item)))
    bounds = {} if np.isinf(ends) else {"score_bounds": ("score_bound", np.array([-ends, ends]))}
    return tree_of("observed_score", score, replicates, {"item": item, "rater": rater}, groups, **bounds)


def vote_study(seed, taste=0.0, side=0.0, cycle=0.0, groups=True, items=10, votes=1400):
    """Tree of votes of 7 raters by Bradley-Terry qualities in the model, with other features in the data."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    rater = np.sort(rng.integers(0, len(KIND), votes))
    quality = rng.standard_normal(items)
    liked = taste * rng.standard_normal((2, items))[(KIND == "model")[rater].astype(int)].T
    x = quality[left] - quality[right] + liked[left, np.arange(votes)] - liked[right, np.arange(votes)]
    x += (
        cycle * np.where((right - left) % items <= items // 2, 1, -1)
        + side * np.where(KIND == "model", 1, -1)[rater]
    )
    won = rng.random(votes) < 1 / (1 + np.exp(-x))
    draws = _posterior_of_qualities(rng, (left, right, won), items)
    again = rng.random((REPLICATES, votes)) < 1 / (1 + np.exp(draws[:, right] - draws[:, left]))
    counts, replicates = (np.stack([w, ~w], axis=-1).astype(np.int64) for w in (won, again))
    return tree_of(
        "observed_winner", counts, replicates, {"left": left, "right": right, "rater": rater}, groups
    )


def _posterior_of_qualities(rng, votes, items):
    """Draws of the Laplace approximation, with a standard normal prior."""
    left, right, won = votes
    design = np.eye(items)[left] - np.eye(items)[right]
    quality = np.zeros(items)
    for _ in range(6):
        p = 1 / (1 + np.exp(-design @ quality))
        precision = (design.T * (p * (1 - p))) @ design + np.eye(items)
        quality = quality + np.linalg.solve(precision, design.T @ (won - p) - quality)
    return rng.multivariate_normal(quality, np.linalg.inv(precision), REPLICATES)


def slope_study(seed):
    """Tree of `score_study` in which one rater scores at random and another stretches the scale, in the data alone."""
    tree = score_study(seed)
    item, rater = (tree["constant_data"][f"annotation_{name}"].to_numpy() for name in ("item", "rater"))
    score = tree["observed_data"]["observed_score"].to_numpy()
    mean = np.bincount(item, score) / np.bincount(item)
    slope = np.where(rater == 0, -0.8, np.where(rater == 1, 0.8, 0))
    return with_observed(tree, "observed_score", score + slope * (mean - mean.mean())[item])


def with_observed(tree, name, values):
    """Tree with other observed annotations."""
    tree["observed_data"] = xr.DataTree(
        tree["observed_data"].to_dataset().assign({name: (("annotation"), values)})
    )
    return tree


def repeat_study(seed, repeated=1.0, items=40, times=3):
    """Tree of scores that each rater gave each item several times, with an error of its own that they share."""
    rng, raters = np.random.default_rng(seed), len(KIND)
    item = np.repeat(np.arange(items), raters * times)
    rater = np.tile(np.repeat(np.arange(raters), times), items)
    own = np.repeat(rng.standard_normal(items * raters), times)
    score = np.sqrt(repeated) * own + np.sqrt(1 - repeated) * rng.standard_normal(len(item))
    location = rng.standard_normal(items) + rng.standard_normal((REPLICATES, items)) / np.sqrt(raters * times)
    replicates = location[:, item] + rng.standard_normal((REPLICATES, len(item)))
    score = location[0][item] + score
    return tree_of("observed_score", score, replicates, {"item": item, "rater": rater}, groups=False)


def population_study(seed, allotted=0.0, curve=0.0, items=80, given=2):
    """Tree of scores with draws of locations and biases that are known, of items allotted by both, and curved in a feature."""
    rng, raters = np.random.default_rng(seed), len(KIND)
    x = rng.standard_normal(items)
    bias, rest = rng.standard_normal(raters), rng.standard_normal(items)
    rest += curve * (x**2 - 1)
    item = np.repeat(np.arange(items), given)
    ahead = rest[:, None] * bias * allotted + rng.gumbel(size=(items, raters))
    rater = np.argsort(-ahead, axis=1)[:, :given].ravel()
    location = rest + x + 0.2 * rng.standard_normal((1, REPLICATES, items))
    biases = bias + 0.1 * rng.standard_normal((1, REPLICATES, raters))
    replicates = location[0][:, item] + biases[0][:, rater] + rng.standard_normal((REPLICATES, len(item)))
    score = (rest + x)[item] + bias[rater] + rng.standard_normal(len(item))
    tree = tree_of("observed_score", score, replicates, {"item": item, "rater": rater}, groups=False)
    draws = {
        "location": (("chain", "draw", "item"), location),
        "rater_bias": (("chain", "draw", "rater"), biases),
        "feature_effect": (("chain", "draw", "feature"), np.ones((1, REPLICATES, 1))),
    }
    coords = {"rater": np.arange(raters), "item": np.arange(items), "feature": ["x"]}
    tree["posterior"] = xr.DataTree(xr.Dataset(draws, coords))
    constants = tree["constant_data"].to_dataset().assign(features=(("item", "feature"), x[:, None]))
    tree["constant_data"] = xr.DataTree(constants)
    return tree


def repeated_votes(seed, again=0.0):
    """Tree of votes of 7 raters on 20 pairs, eight of each rater on each, which repeat the first of them in a share."""
    rng, items, times = np.random.default_rng(seed), 10, 8
    left, right = (np.tile(np.repeat(own, times), len(KIND)) for own in pairs_in_rounds(items))
    rater = np.repeat(np.arange(len(KIND)), len(left) // len(KIND))
    first = np.arange(len(left)) // times * times
    quality = 0.5 * rng.standard_normal(items)
    p = 1 / (1 + np.exp(quality[right] - quality[left]))
    won = rng.random(len(p)) < p
    won = np.where(rng.random(len(p)) < again, won[first], won)
    replicates = rng.random((REPLICATES, len(p))) < p
    counts, replicates = (np.stack([w, ~w], axis=-1).astype(np.int64) for w in (won, replicates))
    codes = {"left": left, "right": right, "rater": rater}
    return tree_of("observed_winner", counts, replicates, codes, groups=False)


def pairs_in_rounds(items):
    """Left and right items of two rounds, in which each meets its next two."""
    left = np.tile(np.arange(items), 2)
    return left, (left + np.repeat([1, 2], items)) % items


def covariate_study(seed, bend=0.0, own=0.0, items=8, votes=2800):
    """Tree of votes with a covariate, linear in the model; in the data bent at large differences, or of two raters alone."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    rater, z = rng.integers(0, len(KIND), votes), rng.standard_normal(votes)
    quality = 0.5 * rng.standard_normal(items)
    effect = 0.6 + own * np.where(rater < 2, 1, -0.4)
    x = quality[left] - quality[right] + effect * ((1 - bend) * z + bend * np.tanh(4 * z))
    linear = quality[left] - quality[right] + (0.6 + 0.2 * bend) * z
    won = rng.random(votes) < 1 / (1 + np.exp(-x))
    again = rng.random((REPLICATES, votes)) < 1 / (1 + np.exp(-linear))
    counts, replicates = (np.stack([w, ~w], axis=-1).astype(np.int64) for w in (won, again))
    codes = {"left": left, "right": right, "rater": rater}
    value = xr.DataArray(z[:, None], {"vote_covariate": ["length"]}, ("annotation", "vote_covariate"))
    return tree_of("observed_winner", counts, replicates, codes, groups=False, vote_covariate_value=value)


def graded_study(seed, coin=False, habit=0.0, items=10, votes=700, cut=1.5):
    """Tree of votes of two strengths with a known cut point in the model; in the data strength is a coin, or also a habit."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    rater, quality = rng.integers(0, len(KIND), votes), rng.standard_normal(items)
    felt = quality[left] - quality[right] + rng.logistic(size=votes)
    strong = np.abs(felt) > cut * np.exp(habit * (rater - 3))
    strong = rng.random(votes) < strong.mean() if coin else strong
    low = np.where(strong, np.where(felt > 0, cut, -np.inf), np.where(felt > 0, 0, -cut))
    high = np.where(strong, np.where(felt > 0, np.inf, -cut), np.where(felt > 0, cut, 0))
    design = np.eye(items)[left] - np.eye(items)[right]
    mean = np.zeros(items)
    for _ in range(8):  # Laplace approximation of the law of levels, with a standard normal prior
        p = [1 / (1 + np.exp(design @ mean - end)) for end in (low, high)]
        slope = p[0] + p[1] - 1
        precision = (design.T * (p[0] * (1 - p[0]) + p[1] * (1 - p[1]))) @ design + np.eye(items)
        mean = mean + np.linalg.solve(precision, design.T @ slope - mean)
    draws = rng.multivariate_normal(mean, np.linalg.inv(precision), REPLICATES)
    again = draws[:, left] - draws[:, right] + rng.logistic(size=(REPLICATES, votes))

    def levels(felt, strong):
        return np.eye(4, dtype=np.int64)[np.where(felt > 0, 1 - strong, 2 + strong)]

    counts, replicates = levels(felt, strong), levels(again, np.abs(again) > cut)
    codes = {"left": left, "right": right, "rater": rater}
    return tree_of("observed_winner", counts, replicates, codes, groups=False)


def failed(study, seeds=range(STUDIES)):
    """Number of studies of which any check fails, and for each check the number of studies in which it does."""
    number, by_name = 0, {}
    for seed in seeds:
        checks = evaluation.model_checks(study(seed))
        number += not checks.attrs["fits"]
        for name in checks["check"].to_numpy()[checks["fails"].to_numpy()].tolist():
            by_name[name] = by_name.get(name, 0) + 1
    return number, by_name


LAWFUL = [
    score_study,
    vote_study,
    partial(repeat_study, repeated=0.0),
    population_study,
    repeated_votes,
    covariate_study,
    graded_study,
]


@pytest.mark.slow
@pytest.mark.parametrize("study", LAWFUL)
def test_data_of_the_law_raise_few_alarms(study):
    assert failed(study)[0] <= MOST_ALARMS


@pytest.mark.parametrize(
    ("study", "name"),
    [
        (partial(score_study, shared=0.35), "residual correlation between groups"),
        (
            partial(score_study, shared=0.45, groups=False),
            "largest eigenvalue of the correlations of the raters",
        ),
        (partial(score_study, tail=0.05), "kurtosis of the residuals"),
        (partial(score_study, own_bias=False), "mean of each rater"),
        (partial(score_study, ends=0.7), "share of scores at the upper bound"),
        (partial(vote_study, taste=0.8), "residual correlation between groups"),
        (
            partial(vote_study, taste=1.0, groups=False),
            "largest eigenvalue of the residuals of the raters by item",
        ),
        (partial(vote_study, side=0.7), "left wins of each rater, beyond the qualities"),
        (partial(vote_study, cycle=0.8), "mean squared residual of a pair of items"),
        (slope_study, "use of the scale by each rater"),
        (repeat_study, "spread of scores that a rater gave an item more than once"),
        (
            partial(population_study, allotted=1.5),
            "correlation of the raters' biases with the locations of their items",
        ),
        (partial(population_study, curve=0.7), "curvature of the locations by features"),
        (partial(repeated_votes, again=0.7), "agreement of votes that a rater repeated on the same items"),
        (partial(covariate_study, bend=1.0), "bend of the effect of a covariate of votes"),
        (partial(graded_study, coin=True), "rise of strength with the lead of the winner in quality"),
        (partial(graded_study, habit=0.3), "strength of the votes of each rater"),
        (partial(covariate_study, own=0.8), "effect of length on the votes of each rater"),
    ],
)
def test_each_misfit_is_found_by_its_check(study, name):
    _, by_name = failed(study, range(2))
    assert by_name.get(name, 0) == 2, by_name


def test_raters_who_use_the_scale_otherwise_are_named_and_not_taken_for_copies():
    checks = evaluation.model_checks(slope_study(1))
    fails = checks["check"].to_numpy()[checks["fails"].to_numpy()].tolist()
    assert not any("eigenvalue" in name and "correlations" in name for name in fails), fails
    assert "least 0, most 1" in str(checks["meaning"].sel(check="use of the scale by each rater").item())


def votes_with_ties():
    """Annotations of 7 items by 4 raters in two groups, and their votes for left, for right and tied (annotation, 3)."""
    rng, n = np.random.default_rng(3), 60
    left = rng.integers(0, 7, n)
    right = (left + rng.integers(1, 7, n)) % 7
    rater = rng.integers(0, 4, n)
    counts = rng.multinomial(1, [0.5, 0.3, 0.2], n) + rng.multinomial(2, [0.2, 0.5, 0.3], n)
    group = np.array([0, 0, 1, 1])
    own = Annotations(np.arange(n), np.arange(n), rater, [*"abcd"], group, ["person", "model"])
    return own, left, right, counts


def test_qualities_and_side_are_least_squares_of_votes(monkeypatch):
    monkeypatch.setattr(comparisons, "ITERATIONS", 60)
    monkeypatch.setattr(comparisons, "RIDGE", 1e-9)
    own, left, right, counts = votes_with_ties()
    votes, margin = counts.sum(axis=1).astype(float), (counts[:, 0] - counts[:, 1]).astype(float)
    quality, residual = comparisons._Numbers(own, left, right, votes)._fit(margin)
    design = np.c_[np.eye(7)[left] - np.eye(7)[right], np.ones(len(left))]
    root = np.sqrt(votes)
    exact = np.linalg.lstsq(design * root[:, None], margin / root, rcond=None)[0]
    np.testing.assert_allclose(quality - quality.mean(), exact[:7] - exact[:7].mean(), atol=1e-6)
    np.testing.assert_allclose(residual, margin - votes * (design @ exact), atol=1e-6)


def test_numbers_of_votes_are_those_of_loops():
    own, left, right, counts = votes_with_ties()
    votes, margin = counts.sum(axis=1).astype(float), (counts[:, 0] - counts[:, 1]).astype(float)
    numbers = comparisons._Numbers(own, left, right, votes)
    quality, residual = numbers._fit(margin)
    size = 7, 7
    of_pair, pair_votes, ahead = np.zeros(size), np.zeros(size), np.zeros(size)
    liking, seen = np.zeros((4, 7)), np.zeros((4, 7))
    sums = np.zeros((4, 4))  # of each rater: votes, margins as the qualities expect, residuals, ties
    for a, (i, j, k) in enumerate(zip(left, right, own.rater, strict=True)):
        sign = 1 if i < j else -1
        of_pair[min(i, j), max(i, j)] += sign * residual[a]
        pair_votes[min(i, j), max(i, j)] += votes[a]
        ahead[i, j] += margin[a]
        ahead[j, i] -= margin[a]
        for end, own_part in ((i, residual[a]), (j, -residual[a])):
            liking[k, end] += own_part
            seen[k, end] += votes[a]
        sums[k] += votes[a], margin[a] * np.sign(quality[i] - quality[j]), residual[a], counts[a, 2]
    triads = [
        (ahead[i, j] > 0, ahead[j, k] > 0, ahead[k, i] > 0)
        for i, j, k in combinations(range(7), 3)
        if ahead[i, j] and ahead[j, k] and ahead[k, i]
    ]
    met, shared = pair_votes > 0, np.zeros((2, 2, 2))  # products of likings, and of votes, by group
    for k, m in combinations(range(4), 2):
        place = min(own.group[k], own.group[m]), max(own.group[k], own.group[m])
        for of, values in enumerate((liking, seen)):
            shared[of][place] += (values[k] * values[m]).sum()
    cast = [
        (own.rater[a], *sorted((i, j)), (i, j, -1)[outcome])
        for a, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True))
        for outcome in (0, 1, 2)
        for _ in range(counts[a, outcome])
    ]
    again = [first[3] == other[3] for first, other in combinations(cast, 2) if first[:3] == other[:3]]
    scaled = np.divide(liking, np.sqrt(seen), out=np.zeros((4, 7)), where=seen > 0)
    expected = {
        "left": counts[:, 0].sum() / counts[:, :2].sum(),
        "ties": counts[:, 2].sum() / counts.sum(),
        "pairs": (of_pair[met] ** 2 / pair_votes[met]).mean(),
        "cycles": np.mean([len({*own}) == 1 for own in triads]),
        "agreement": sums[:, 1] / sums[:, 0],
        "sides": sums[:, 2] / sums[:, 0],
        "tie_shares": sums[:, 3] / sums[:, 0],
        "taste": (liking[seen > 0] ** 2 / seen[seen > 0]).mean(),
        "eigenvalue": np.linalg.eigvalsh(scaled @ scaled.T / 7).max(),
        "within": np.diag(shared[0]) / np.diag(shared[1]),
        "between": shared[0][0, 1] / shared[1][0, 1],
        "repeats": np.mean(again),
    }
    found = numbers(counts)
    assert {*found} == {*expected} and 0 < expected["cycles"] < 1 < len(triads)
    for name, exact in expected.items():
        np.testing.assert_allclose(found[name], exact, atol=1e-12, err_msg=name)


def test_sentences_name_the_groups_and_the_reference(golden):
    checks = evaluation.model_checks(score_study(1, shared=0.5))
    text = " ".join(checks.attrs["sentences"])
    golden.says(text, "model expects")
    golden.says(text.replace("Model", "model"), "independent errors")
    again = evaluation.model_checks(score_study(1, shared=0.5), by="kind")
    xr.testing.assert_identical(checks, again)


def test_a_tree_without_replicates_or_with_few_says_how_to_draw_them(golden):
    tree = score_study(1)
    with golden.raises(evaluation.EvaluationError):
        evaluation.model_checks(tree.drop_nodes("posterior_predictive"))
    tree["posterior_predictive"] = tree["posterior_predictive"].to_dataset().isel(draw=slice(20))
    with golden.raises(evaluation.EvaluationError):
        evaluation.model_checks(tree)


def test_anonymous_scores_are_checked_by_item_only():
    tree = score_study(1)
    tree["constant_data"] = tree["constant_data"].to_dataset().drop_vars("annotation_rater")
    assert not any(
        name.startswith("mean of each") for name in evaluation.model_checks(tree)["check"].to_numpy()
    )
