"""Stores that a call goes on with: nothing else does, and other versions are told."""

from functools import partial

import numpy as np
import pytest
from raterzoo import inference, models
from raterzoo.inference.labels.kernels import gibbs
from raterzoo.inference.scale.sharded_gibbs import PosteriorLayout
from raterzoo.posterior import schema

from tests.support.executors import Stopped, Stops
from tests.support.stores import store_attrs

VOTES = {"item": list("aabbcc"), "rater": list("rsrsrs"), "label": list("xxyxyy")}
FEW = {"draws": 4, "chains": 1, "random_seed": 1, "progressbar": False}


CALLS = {
    "scatter": partial(inference.scatter, models.dirichlet, models.Labels.from_table(VOTES), shard=1, **FEW),
    "dawid_skene_gibbs": partial(inference.dawid_skene_gibbs, models.Labels.from_table(VOTES), tune=3, **FEW),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_the_same_call_goes_on_and_tells_other_versions(call, tmp_path, monkeypatch, golden):
    store = tmp_path / "run.zarr"
    with pytest.raises(Stopped):
        CALLS[call](executor=Stops(2), store=store)
    with golden.raises(ValueError):
        inference.resume(store)
    begun = store_attrs(store)["versions"]
    newer = schema.versions_of_now() | {"numba": "99"}
    monkeypatch.setattr(schema, "versions_of_now", lambda: newer)
    with golden.warns(inference.ResumeWarning) as told:
        tree = CALLS[call](executor=Stops(99), store=store)
    assert told[0].filename == __file__
    assert tree.attrs["versions"] == begun
    CALLS[call](executor=Stops(0), store=store)  # finished: a warning would be an error


def groups_of(items, raters, categories):
    """Groups of a run of so many, each rater with an answer."""
    rater = np.arange(raters)
    frame = {"item": rater % items, "rater": rater, "label": (rater % categories).astype(str)}
    n = categories
    prior = gibbs.ConfusionPrior(np.ones(n), np.ones((raters * n, n)), gibbs.FREE_ROWS)
    return PosteriorLayout(models.Labels.from_table(frame), prior, 4, 1000, 1, "float32")


def test_confusion_of_many_raters_counts_among_what_is_buffered():
    many = groups_of(100, 20_000, 5)
    table = many.chains * many.buffered * many.prior.confusion.size * 8
    assert many.buffered >= 1 and table < 2e8
    assert groups_of(100, 10, 5).buffered == 1000
