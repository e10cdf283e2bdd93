"""`--groups-of-raters` and `--independent`: raters who share errors, on the command line."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.models import simulators
from raterzoo.reports.sections.comparisons import tastes_in_words

from tests.support.cli_parts import settings_of
from tests.support.command_line import run, said, write

SAMPLED = {"draws": 10, "chains": 2, "seed": 1}
ROWS = simulators.labels(model="shared_guess", items=12, raters=6, answers=5, random_seed=1).data.to_table()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "labels.csv"
    return write(path, {name: ROWS[name] for name in ("item", "rater", "label", "kind")})


def test_options_become_arguments_of_the_builder():
    options = {"groups_of_raters": "kind", "independent": ["person"]}
    settings = settings_of("labels", "shared_guess", options, **SAMPLED)
    assert settings.priors == {"groups": "kind", "independent": ["person"]}
    assert settings.rater_attributes == ("kind",)
    by_default = settings_of("labels", "shared_guess", {"rater_attribute": ["kind"]}, **SAMPLED)
    assert by_default.rater_attributes == ("kind",) and not by_default.priors


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("shared_guess", {}),
        ("dawid_skene", {"groups_of_raters": "kind"}),
        ("mace", {"independent": ["person"]}),
    ],
)  # fmt: skip
def test_options_of_other_models_and_missing_ones_are_refused(model, options, golden):
    with golden.raises(ValueError):
        settings_of("labels", model, options, **SAMPLED)


@pytest.mark.parametrize(("kind", "model"), [("comparisons", "thurstone"), ("scores", "hierarchical_scores")])
def test_models_of_votes_and_scores_share_only_where_groups_are_named(kind, model):
    options = {"groups_of_raters": "kind", "independent": ["person"]}
    settings = settings_of(kind, model, options, **SAMPLED)
    assert settings.priors == {"groups": "kind", "independent": ["person"]}
    assert settings.rater_attributes == ("kind",)
    assert not settings_of(kind, model, {}, **SAMPLED).priors


def test_rank_takes_groups_and_refuses_unknown_ones(tmp_path, golden):
    votes = simulators.comparisons(
        items=8, raters=6, degree=4, alpha=1, taste=0.5, random_seed=1
    ).data.to_table()
    path = write(tmp_path / "votes.csv", votes)
    wrong = run("rank", path, "--groups-of-raters", "kind", "--independent", "robot")
    assert wrong.exit_code == 2
    golden.says(said(wrong))


def test_the_size_of_a_taste_is_said(golden):
    rng = np.random.default_rng(1)
    taste = rng.normal(size=(2, 100, 1, 50)) * [[[[3.0]]]]
    coords = {"group_of_raters": ["judge"]}
    posterior = xr.Dataset({"taste": (("chain", "draw", "group_of_raters", "item"), taste)}, coords)
    words = tastes_in_words(xr.DataTree.from_dict({"posterior": posterior}), 0.9)
    golden.says(words, "taste beside")
    golden.says(words, "qualities: judge")
    alone = xr.DataTree.from_dict({"posterior": posterior.drop_vars("taste")})
    assert tastes_in_words(alone, 0.9) == ""


@pytest.mark.slow
def test_fit_writes_shares_and_guesses(table, tmp_path, golden):
    out = tmp_path / "posterior.nc"
    options = ["--kind", "labels", "--model", "shared_guess", "--draws", "50", "--chains", "2"]
    groups = ["--groups-of-raters", "kind", "--independent", "person"]
    done = run("fit", table, *options, *groups, "-o", out)
    assert done.exit_code == 0, done.output
    with xr.open_datatree(out) as tree:
        assert set(tree["posterior"]["group_of_raters"].values.tolist()) == {"judge a", "judge b"}
        assert tree["posterior"]["shared"].sizes["copier"] == 4
    wrong = run("fit", table, *options, "--groups-of-raters", "kind", "--independent", "robot", "-o", out)
    assert wrong.exit_code == 2
    golden.says(said(wrong))
