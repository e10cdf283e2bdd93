"""Arrival times given worths: against every order of a tied block, counted one by one."""

from itertools import permutations

import numba as nb
import numpy as np
import pytest
from raterzoo.inference.rankings.kernels import gibbs
from raterzoo.inference.rankings.kernels import race as kernels_race

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, check_means, seed_of
from tests.support.random_streams import stream
from tests.support.ranking_samplers import distinct_annotations, worth_posterior

WORTHS = {
    "pair": ([1.0, 0.3], 0.5),
    "triple": ([0.2, 3.0, 1.0], 2.0),
    "little rest": ([1.0, 2.0, 0.5, 0.1], 1e-3),
    "much rest": ([0.4, 0.3, 0.2, 0.1, 0.05], 30.0),
}


def expected_race(worth, rest):
    """Return E[arrival], E[arrival ** 2] of every member and p(subset races at some time)."""
    worth, n = np.asarray(worth), len(worth)
    first, second, visited, total = np.zeros(n), np.zeros(n), np.zeros(2**n), 0.0
    for order in permutations(range(n)):
        probability, mean, variance = 1.0, 0.0, 0.0
        steps = []
        for i, k in enumerate(order):
            racing = rest + worth[list(order[i:])].sum()
            probability *= worth[k] / racing
            mean, variance = mean + 1 / racing, variance + 1 / racing**2
            steps.append((k, mean, variance + mean**2, sum(1 << j for j in order[i:])))
        for k, one, two, subset in steps:
            first[k] += probability * one
            second[k] += probability * two
            visited[subset] += probability
        total += probability
    return first / total, second / total, visited / total


@nb.njit
def arrivals(rng, log_worth, log_rest, n_draws):
    out = np.empty((n_draws, len(log_worth)))
    for d in range(n_draws):
        kernels_race.draw_log_arrivals(rng, log_worth, log_rest, out[d])
    return out


def own_stream(name):
    return stream(np.random.SeedSequence(seed_of(name)))


def check_mean(draws, exact):
    check_means(draws.reshape(4, -1, draws.shape[-1]), exact)


@pytest.mark.parametrize("name", WORTHS)
@pytest.mark.parametrize("scale", [0.0, 700.0, -2000.0])
def test_arrivals_of_a_tied_block(name, scale):
    worth, rest = WORTHS[name]
    draws = arrivals(
        own_stream(f"arrivals {name} {scale}"), np.log(worth) + scale, np.log(rest) + scale, 100_000
    )
    times = np.exp(draws + scale)
    first, second, _ = expected_race(worth, rest)
    check_mean(times, first)
    check_mean(times**2, second)
    # the twin counts one more candidate of worth one among the rest
    assert_rejects_twin(check_mean, times, expected_race(worth, rest + 1)[0])


@pytest.mark.parametrize("name", WORTHS)
def test_orders_of_a_tied_block(name):
    worth, rest = WORTHS[name]
    copies, size = 200_000, 2 ** len(worth)
    table = (np.empty(size), np.empty(size), np.empty(size, np.int64))
    kernels_race.draw_orders(own_stream(f"orders {name}"), np.array(worth), rest, copies, table)
    _, racing, visits = table
    visited = expected_race(worth, rest)[2]

    def check_visits(expected):
        error = np.sqrt(copies * expected * (1 - expected) + 1e-9)
        z = ((visits - copies * expected) / error)[1:]
        assert np.abs(z).max() < bonferroni_threshold(size)

    check_visits(visited)
    assert_rejects_twin(check_visits, expected_race(worth[::-1], rest)[2])
    members = np.arange(size)[:, None] >> np.arange(len(worth)) & 1
    np.testing.assert_allclose(racing, rest + members @ np.array(worth), rtol=1e-14)


def test_arrivals_of_twenty_equal_members():
    worth, rest = 0.7, 1.3
    draws = arrivals(own_stream("twenty"), np.full(20, np.log(worth)), np.log(rest), 50_000)
    waits = 1 / (rest + worth * np.arange(20, 0, -1))
    last = np.exp(draws).max(axis=1, keepdims=True)
    check_mean(last, waits.sum())
    check_mean(np.exp(draws).mean(axis=1, keepdims=True), waits.cumsum().mean())
    assert_rejects_twin(check_mean, last, waits[1:].sum())


def test_arrivals_of_worths_far_apart():
    """The small member is the last; given that the rest is smaller still, it arrives by itself."""
    log_worth = np.array([0.0, -1000.0])
    draws = arrivals(own_stream("far apart"), log_worth, -2000.0, 50_000)
    check_mean(np.exp(draws - [0.0, 1000.0]), np.ones(2))
    # and where the rest is larger, within the time the rest allows, uniformly
    draws = arrivals(own_stream("far apart again"), log_worth, -500.0, 50_000)
    check_mean(np.exp(draws - [0.0, 500.0]), np.array([1.0, 1.0]))


# Candidates: an untied first, a tie of two, two unranked; and another rater's order, twice.
BLOCK = np.array([[0, 1, 1, 2, 2], [2, 0, 1, 2, 2], [2, 0, 1, 2, 2]])
WORTH = np.array([2.0, 0.5, 1.0, 0.7, 0.1])


def expected_exposure(reliability):
    exposure = np.zeros(5)
    lead = 1 / WORTH.sum()
    tie, _, _ = expected_race(WORTH[1:3], WORTH[3:].sum())
    orders = expected_race(WORTH[1:3], WORTH[3:].sum())[2]
    duration = orders[3] / (WORTH[1:].sum()) + sum(
        orders[1 << j] / (WORTH[1 + j] + WORTH[3:].sum()) for j in range(2)
    )
    exposure += [lead, lead + tie[0], lead + tie[1], lead + duration, lead + duration]
    one, two = 1 / WORTH.sum(), 1 / WORTH.sum() + 1 / (WORTH.sum() - WORTH[1])
    exposure += 2 * np.array([two, one, two, two, two])
    return reliability * exposure


@nb.njit
def log_rates(rng, posterior, log_worth, n_draws):
    track = kernels_race.race_track(posterior, 0, 1)
    out = np.empty((n_draws, len(log_worth)))
    for d in range(n_draws):
        kernels_race.draw_log_rates(rng, 0, posterior, log_worth, track)
        out[d] = track.log_rate[: len(log_worth)]
    return out


@pytest.mark.parametrize("reliability", [1, 4])
@pytest.mark.parametrize("scale", [0.0, -60.0, 90.0, -1500.0], ids="scale{}".format)
def test_exposures_do_not_depend_on_the_scale(reliability, scale):
    """Within exp(80) of one sums are linear, beyond they are in logs: one law."""
    place = np.tile(np.arange(5), (3, 1))
    posterior = worth_posterior(distinct_annotations(BLOCK, place, reliability, 5), 1.0, 1.0)
    rng = own_stream(f"exposures {reliability} {scale}")
    with np.errstate(over="ignore"):
        rates = np.exp(log_rates(rng, posterior, np.log(WORTH) + scale, 50_000) + scale)
    exposure = rates - np.exp(scale)  # the prior rate is one
    if scale < 50:  # beyond, the prior rate drowns the exposure
        check_mean(exposure, expected_exposure(reliability))
        assert_rejects_twin(check_mean, exposure, expected_exposure(reliability) + 1 / WORTH)
    else:
        np.testing.assert_allclose(rates, np.exp(scale), rtol=1e-12)


def test_the_rate_of_a_candidate_without_prior_rate_and_exposure_is_all_but_zero():
    """Without annotations there is no exposure; a log rate that were not a number would spread to the worths."""
    place = np.tile(np.arange(5), (3, 1))
    posterior = worth_posterior(distinct_annotations(BLOCK, place, 1, 5), 1.0, 1.0)
    rate = np.array([0.0, 1e-3, 0.0, 2.0, 1.0])
    bare = posterior._replace(annotation_start=np.zeros(2, np.int64), rate=rate)
    for scale, zero in ((0.0, np.log(kernels_race.LEAST_RATE)), (90.0, -np.inf)):  # linear, and in logs
        (found,) = log_rates(own_stream("rate"), bare, np.log(WORTH) + scale, 1)
        largest = np.log(WORTH).max() if scale == 0 else 0.0
        exact = np.where(rate > 0, np.log(rate, where=rate > 0, out=np.zeros(5)), zero - largest)
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)


def waits_of(block, leads, copies=30):
    """Return the waits of a tied block in front of racing worth 1.7: {racing worth: number} with leader 0, and number without."""
    place = np.tile(np.arange(5), (3, 1))
    posterior = worth_posterior(distinct_annotations(BLOCK, place, copies, 5), 1.0, 1.0)
    track = kernels_race.race_track(posterior, 0, 1)
    track.worth[:] = WORTH
    race = (1.7, leads, 0.0, 0, copies)
    used, behind = gibbs._tied_waits.py_func(own_stream("waits"), np.array(block), race, 0, track)
    return dict(zip(np.exp(track.offset[:used]).round(9).tolist(), track.count[:used], strict=True)), behind


def test_waits_of_a_tied_block_are_those_in_which_the_leader_races():
    found, behind = waits_of([0, 1], False)
    assert found.keys() == {1.7, 2.2} and found[2.2] == 30 and 0 < found[1.7] == 30 - behind < 30
    found, behind = waits_of([1, 2], True)  # the leader is behind the block: it races all the time
    assert found.keys() == {2.2, 2.7, 3.2} and found[3.2] == 30 == found[2.2] + found[2.7] and behind == 0
    assert waits_of([1, 2], False) == ({}, 60)  # it is in front


def test_density_of_the_common_factor_is_that_of_its_docstring():
    power, offset, count = 2.5, np.array([-1.0, 0.3, 40.0]), np.array([3.0, 0.5, 2.0])

    def log_density(y):
        return power * y - (count * np.logaddexp(0, y + offset)).sum()

    h = 1e-4
    for y in (-3.0, 0.2, 5.0):
        value, slope, curvature = gibbs._log_density.py_func(y, (power, offset, count))
        assert value == pytest.approx(log_density(y), rel=1e-12)
        assert slope == pytest.approx((log_density(y + h) - log_density(y - h)) / (2 * h), abs=1e-6)
        second = (log_density(y + h) - 2 * log_density(y) + log_density(y - h)) / h**2
        assert curvature == pytest.approx(second, abs=1e-5)


def test_waits_of_one_order_after_another_are_listed_exactly():
    """Candidate 0 leads; of four annotations three have it first and one second; waits from before its arrival are left."""
    block = np.array([[0, 1, 2]] * 3 + [[1, 0, 2]])
    place = np.tile(np.arange(3), (4, 1))
    posterior = worth_posterior(distinct_annotations(block, place, 1, 3), np.array([0.5, 1.0, 2.0]), 1.0)
    assert posterior.leader[0] == 0
    track = kernels_race.race_track(posterior, 0, 1)
    track.worth[:] = (4.0, 0.5, 1.2)
    used, behind = gibbs._list_waits.py_func(own_stream("list"), 0, posterior, 0.0, track)
    assert (used, behind) == (3, 3)
    np.testing.assert_allclose(np.exp(track.offset[1:3]), [1.7, 1.2])
    np.testing.assert_array_equal(track.count[1:3], [4, 1])


def test_waits_that_are_drawn_by_arrival_are_counted_one_by_one():
    place = np.tile(np.arange(5), (3, 1))
    track = kernels_race.race_track(
        worth_posterior(distinct_annotations(BLOCK, place, 20, 5), 1.0, 1.0), 0, 1
    )
    track.worth[:], track.count[:] = WORTH, np.nan
    race = (1.7, False, np.log(WORTH[0]), 0, 20)
    used, behind = gibbs._tied_waits_by_arrival.py_func(
        own_stream("by arrival"), np.array([0, 1]), race, 0, track
    )
    assert used + behind == 40 and behind > 0 and (track.count[:used] == 1).all()
    assert {*np.exp(track.offset[:used]).round(9)} == {1.7, 2.2}


def test_work_space_has_room_for_the_longest_annotation():
    place = np.tile(np.arange(5), (3, 1))
    track = kernels_race.race_track(worth_posterior(distinct_annotations(BLOCK, place, 2, 5), 1.0, 1.0), 0, 1)
    sizes = {name: len(array) for name, array in track._asdict().items()}
    waits = sizes.pop("offset")
    assert sizes.pop("count") == waits >= 2 + 1 + 2 * 2
    ahead = {"uniform": 32, "bound": 32, "accepted": 2, "state": 3}  # of 5 words for each candidate, by 16
    assert {name: sizes.pop(name) for name in ahead} == ahead
    candidates = dict.fromkeys(("worth", "exposure", "log_rate", "member_worth", "member_time", "power"), 5)
    assert sizes == candidates | {"rest": 3} | dict.fromkeys(("recursion", "racing", "visits"), 4)


def test_common_factor_is_drawn_given_prior_waits_and_wins(monkeypatch):
    """Its density has the sum of all prior shapes at the wait of the prior, and moves all worths but the leader's."""
    block = np.array([[0, 1, 2]] * 3 + [[1, 0, 2]])
    place, shape = np.tile(np.arange(3), (4, 1)), np.array([0.5, 1.0, 2.0])
    posterior = worth_posterior(distinct_annotations(block, place, 1, 3), shape, 1.0)
    told = []
    monkeypatch.setattr(gibbs, "_list_waits", gibbs._list_waits.py_func)
    monkeypatch.setattr(
        gibbs, "_draw_log_factor", lambda rng, waits, x: told.append((x, *map(np.copy, waits))) or 0.25
    )
    before = np.log([4.0, 0.5, 1.0])
    after = before.copy()
    gibbs.draw_leader_factor.py_func(
        own_stream("factor"), 0, posterior, after, kernels_race.race_track(posterior, 0, 1)
    )
    np.testing.assert_allclose(after - before, [0, 0.25, 0.25], atol=1e-12)
    ((start, power, offset, count),) = told
    assert start == 0 and power == pytest.approx(
        posterior.wins[1:].sum() + 3.0 - 3
    )  # three waits are left behind
    np.testing.assert_allclose(np.exp(offset), [1.5 / 4, 1.5 / 4, 1.0 / 4], rtol=1e-12)
    np.testing.assert_allclose(count, [3.5, 4, 1])
