"""The verdict on many checks: its level where observed and replicated values are exchangeable, and what it finds."""

import numpy as np
import pytest
from raterzoo.evaluation.checks import discrepancies

STUDIES, REPLICATES = 250, 59


def study(rng, shift=0.0, members=6):
    """Five checks that depend on each other, the first of them shifted, and a family of six raters."""
    common = rng.gamma(2.0, size=(REPLICATES + 1, 1))
    checks = common + 3 * rng.standard_normal((REPLICATES + 1, 5))
    family = common + rng.standard_normal((REPLICATES + 1, members))
    checks[0, 0] += shift
    made = [
        discrepancies.Check(f"check {k}", checks[0, k], checks[1:, k], low="too low", high="too high")
        for k in range(5)
    ]
    return made, [
        discrepancies.Family("all", "rater", list(range(members)), family[0], family[1:], "raters differ")
    ]


def share_failed(seed, shift=0.0, adjusted=True):
    """Share of studies of which any check fails, by the adjusted or the single tail probabilities."""
    rng, failed = np.random.default_rng(seed), 0
    for _ in range(STUDIES):
        table = discrepancies.judged(*study(rng, shift))
        failed += (
            not table.attrs["fits"]
            if adjusted
            else bool((table["tail_probability"] <= discrepancies.LEVEL).any())
        )
    return failed / STUDIES


@pytest.mark.slow
def test_the_level_holds_for_all_checks_together_and_a_shift_is_found():
    # binomial of 250 studies at .05: more than .08 has the probability .02
    assert share_failed(1) <= 0.08
    assert share_failed(2, shift=18.0) > 0.9


def test_checks_that_are_not_judged_together_have_too_many_false_alarms():
    assert share_failed(1, adjusted=False) > 0.12


def test_the_table_says_what_fails_and_by_how_much(golden):
    table = discrepancies.judged(*study(np.random.default_rng(5), shift=20.0), {"answers": 12})
    assert table["fails"].values.tolist() == [True] + [False] * 5
    assert (
        table.attrs["fits"] == 0 and table.attrs["replicates"] == REPLICATES and table.attrs["answers"] == 12
    )
    (sentence,) = table.attrs["sentences"]
    golden.says(sentence, "high: check", "model expects")
    first = table.isel(check=0)
    assert first["observed"] > first["upper"] and first["effect"] == pytest.approx(20.0, abs=9.0)
    assert table["rater_adjusted"].dims == ("rater",) and table.sizes["rater"] == 6


def test_values_that_do_not_vary_or_are_missing_do_not_fail():
    same = np.full(50, 2.0)
    rng = np.random.default_rng(1).standard_normal(51)
    table = discrepancies.judged(
        [
            discrepancies.Check("same", 2.0, same),
            discrepancies.Check("none", np.nan, same),
            discrepancies.Check("other", rng[0], rng[1:]),
        ]
    )
    assert table["check"].values.tolist() == ["same", "other"] and table.attrs["fits"] == 1
    assert (discrepancies.standard_scores(np.array(2.0), same) == 0).all()


def test_main_checks_have_most_of_the_level_and_together_they_keep_it():
    rng, failed, n = np.random.default_rng(7), np.zeros(2), 119
    for _ in range(STUDIES):
        values = rng.standard_normal((n + 1, 2))
        checks = [
            discrepancies.Check(f"{k}", values[0, k], values[1:, k], side="upper", is_main=k == 0)
            for k in range(2)
        ]
        failed += discrepancies.judged(checks)["fails"].to_numpy()
    # 250 studies at .04 and .01: 17 and 7 have the probabilities .02 and .01
    assert 4 <= failed[0] <= 17 and failed[1] <= 7
