"""Reports reweight some of many draws to other reliabilities, and say how many."""

import pytest
from raterzoo import evaluation, inference, models, reports


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "used"), [(300, 600), (1500, 1000)])
def test_at_most_a_thousand_draws_are_reweighted(draws, used):
    labels = models.simulators.labels(items=30, raters=6, categories=3, random_seed=1).data
    tree = inference.sample(models.dirichlet(labels, reliability=2), draws=draws, chains=2, random_seed=1)
    sections = reports.make(tree, annotations=labels).sections
    (section,) = [own for own in sections if own.title == "Reliability of the raters"]
    assert f"{used:,} of its" in section.text
    told = {row["reliability"]: row["mean"] for row in section.rows if row["quantity"] == "certainty"}
    assert sorted(told) == [1.333, 2.0, 3.0]
    for reliability in (1.333, 3.0):
        by_all = evaluation.annotation_certainty(evaluation.reweight(tree, reliability, random_seed=1)).mean()
        assert told[reliability] == pytest.approx(float(by_all), abs=0.01)
    assert told[3.0] - told[1.333] > 0.02
