"""Duration of draws that `rank` announces for votes with covariates: by method, in proportion, nothing for few votes."""

import re
from types import SimpleNamespace

import pytest
from raterzoo.cli.rank import duration_in_words

PLAN = SimpleNamespace(chains=4, draws=1000)


def announced(votes, method, plan=PLAN):
    said = duration_in_words(votes, SimpleNamespace(method=method, reason="sides of raters"), plan)
    found = re.search(r"about (\d+) CPU (seconds|minutes)", said)
    return None if found is None else int(found[1]) * (60 if found[2] == "minutes" else 1)


def test_duration_is_that_of_the_method_and_grows_with_the_votes():
    assert announced(5_000, "hmc") is None
    assert announced(1_000_000, "hmc") == pytest.approx(60, rel=0.5)
    assert announced(20_000, "nuts") == pytest.approx(66, rel=0.1)
    assert announced(140_000, "nuts") == pytest.approx(7 * 66, rel=0.1)
    assert announced(20_000, "nuts", SimpleNamespace(chains=2, draws=1000)) == pytest.approx(33, rel=0.1)
