"""Checks of answers in a known order: raters who repeat the first one, give one label late in their queue, or change."""

import numpy as np
import pytest
from raterzoo import evaluation, inference, models
from raterzoo.evaluation.checks.labels import FIRST, LATE, TIME

ITEMS, RATERS, ANSWERS = 200, 8, 4


def failed_checks(rule):
    """Names of the failed checks of answers by a rule, of half of the raters' answers."""
    rng = np.random.default_rng(3)
    item, n = np.repeat(np.arange(ITEMS), ANSWERS), ITEMS * ANSWERS
    rater = np.concatenate([rng.choice(RATERS, ANSWERS, replace=False) for _ in range(ITEMS)])
    truth, time, half = rng.integers(0, 3, ITEMS), rng.permutation(n), rng.random(n) < 0.5
    right = np.where(rng.random(ITEMS) < 0.5, 0.45, 0.95)[item] if rule == "hard" else np.full(n, 0.75)
    label = np.where(rng.random(n) < right, truth[item], (truth[item] + rng.integers(1, 3, n)) % 3)
    if rule == "repeat":
        label = np.where(half, label[np.lexsort((time, item))[::ANSWERS]][item], label)
    elif rule == "default":
        label = np.where(half & (time > n / 2) & (rater < 3), 0, label)
    elif rule in ("drift", "windows", "many", "permuted"):
        few = np.where(rater < 3, 0.95 - 0.6 * time / n, 0.75)
        many = 0.75 + 0.15 * np.where(rater % 2, 1, -1) * (2 * time / n - 1)
        right = few if rule in ("drift", "windows") else many
        label = np.where(rng.random(n) < right, truth[item], (truth[item] + rng.integers(1, 3, n)) % 3)
    time = rng.permutation(n) if rule == "permuted" else time
    names = np.array([f"r{k}" for k in range(RATERS)])[rater]
    table = {"item": item, "rater": names, "label": np.array([*"abc"])[label], "time": time}
    labels = models.Labels.from_table(table, time="time")
    model = models.dawid_skene(labels, time=4 if rule == "windows" else None)
    tree = inference.sample(model, draws=60, chains=2, random_seed=1, progressbar=False)
    found = evaluation.model_checks(tree, replicates=99, random_seed=1)
    return {str(own) for own in found["check"].to_numpy()[found["fails"].to_numpy()]}, found


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
@pytest.mark.parametrize(
    ("rule", "cause"),
    [
        ("repeat", {FIRST}),
        ("default", {LATE, TIME}),
        ("nothing", set()),
        ("hard", set()),
        ("drift", {TIME}),
        ("windows", set()),
        ("many", {TIME}),
        ("permuted", set()),
    ],
)
def test_the_cause_is_named_and_no_other(rule, cause):
    failed, found = failed_checks(rule)
    assert failed & {FIRST, LATE, TIME} == cause
    assert {FIRST, LATE, TIME} < {*found["check"].to_numpy().tolist()}
    if rule in ("default", "drift"):
        meaning = str(found["meaning"].sel(check=LATE if rule == "default" else TIME).item())
        assert any(name in meaning for name in ("r0", "r1", "r2"))
        assert not any(name in meaning for name in ("r3", "r4", "r5", "r6", "r7"))
