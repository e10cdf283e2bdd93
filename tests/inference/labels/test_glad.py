"""GLAD drawn by NUTS: its posterior against a grid, calibration, and the wrong twins."""

import numpy as np
import pytest
from raterzoo import inference, models
from scipy.special import log_expit, logsumexp

from tests.support.data_parts import easiness_nodes
from tests.support.label_designs import tiny_labels
from tests.support.monte_carlo import assert_rejects_twin, check_means, seed_of, within_sbc_band

TABLE = {
    "item": np.repeat(np.arange(6), [2, 2, 2, 3, 2, 1]),
    "rater": list("ab" * 3 + "aab" + "ab" + "b"),
    "label": list("xx" + "xy" + "yx" + "xxy" + "yy" + "z"),
}
LABELS = models.Labels.from_table(TABLE, categories=["x", "y", "z"])


def exact_means(labels, ability=(1.0, 1.0)):
    """Posterior means by the trapezoid rule over two abilities, each item's difficulty on many nodes."""
    grid = np.linspace(-6, 8, 141)
    point, weight = easiness_nodes(3, 120)
    odds = grid[:, None] * np.exp(1 + point)
    right, wrong = log_expit(odds), log_expit(-odds) - np.log(2)  # (ability, node)
    log_p, truth = 0.0, []
    for i in range(len(labels.items)):
        joint = np.zeros((3, len(grid), len(grid), len(point))) - np.log(3)
        for a in np.flatnonzero(labels.annotation_item == i):
            for j in range(3):
                law = right if labels.label_code[a] == j else wrong
                own = law[:, None] if labels.annotation_rater[a] == 0 else law[None]
                joint[j] += labels.count[a] * own
        by_category = logsumexp(joint + np.log(weight), axis=-1)
        log_item = logsumexp(by_category, axis=0)
        log_p = log_p + log_item
        truth.append(np.exp(by_category - log_item))
    prior = -0.5 * ((grid - ability[0]) / ability[1]) ** 2
    density = np.exp(log_p + prior[:, None] + prior)
    density /= density.sum()
    means = [(density.sum(axis=1 - k) * grid).sum() for k in range(2)]
    squares = [(density.sum(axis=1 - k) * grid**2).sum() for k in range(2)]
    return {
        "ability": np.array(means),
        "square": np.array(squares),
        "plausibility": np.einsum("ab,ijab->ij", density, np.array(truth)),
    }


@pytest.fixture(scope="module")
def draws():
    model = models.glad(LABELS, prevalence_concentration="uniform")
    tree = inference.sample(model, random_seed=seed_of("glad"), cores=1, nuts_sampler="pymc",
                            draws=2000, progressbar=False)  # fmt: skip
    assert (tree.attrs["model"], tree.attrs["method"]) == ("glad", "nuts")
    assert "effects of the items are summed out" in tree.attrs["method_reason"]
    assert tree["posterior"]["expected_difficulty"].dims == ("chain", "draw", "item")
    assert tree["log_likelihood"]["observed_label"].dims == ("chain", "draw", "item")
    posterior = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
    own = {name: posterior[name].to_numpy() for name in ("ability", "plausibility")}
    return own | {"square": own["ability"] ** 2}


@pytest.mark.long
def test_nuts_draws_the_exact_posterior(draws):
    check_means(draws, exact_means(LABELS))
    assert_rejects_twin(check_means, draws, exact_means(LABELS, ability=(1.2, 1.0)))
    kept = np.array(TABLE["item"]) != 1
    fewer = models.Labels.from_table(
        {k: np.array(v)[kept] for k, v in TABLE.items()}, categories=["x", "y", "z"]
    )
    dropped = exact_means(fewer)
    del dropped["plausibility"]
    assert_rejects_twin(check_means, draws, dropped)


def test_gibbs_is_refused_with_the_reason(golden):
    with golden.raises(ValueError):
        inference.sample(models.glad(tiny_labels()), method="gibbs", progressbar=False)


# a long run by one command: pytest -m long -n 0 tests/inference/labels/test_glad.py -k ranked
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", ["glad", "mace"])
def test_truths_are_ranked_uniformly(name):
    from tests.support.nuts_calibration import KEPT, nuts_ranks

    design = models.simulators.labels(items=40, raters=4, categories=3, answers=3, random_seed=1).data
    build, options = (
        getattr(models, name),
        {"glad": {"ability": (1.5, 1.0)}, "mace": {"spam_concentration": 3.0}},
    )
    ranks = nuts_ranks(build(design), 300, seed_of(f"{name} ranks"))
    level = 1 - 0.01 / ranks.shape[1]
    assert within_sbc_band(ranks, KEPT, level).all()
    twin = nuts_ranks(build(design), 300, seed_of(f"{name} twin"), build(design, **options[name]))
    assert not within_sbc_band(twin, KEPT, level).all()
