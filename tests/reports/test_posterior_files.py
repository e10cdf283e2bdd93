"""Large posteriors are announced, and thinned or summarised on request; the report is of all draws."""

import arviz
import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models, reports
from raterzoo.reports import posterior_files

from tests.support.stores import read_posterior


@pytest.fixture(scope="module")
def fitted():
    data = models.simulators.scores(model="normal_scores", items=12, raters=6, random_seed=1).data
    return data, inference.sample(models.normal_scores(data), draws=450, chains=2, random_seed=1)


@pytest.fixture
def small_limit(monkeypatch, fitted):
    monkeypatch.setattr(posterior_files, "LARGE", posterior_files.kept_posterior(fitted[1]).bytes / 3.5)


def test_small_posteriors_are_kept_whole(fitted, golden):
    kept = posterior_files.kept_posterior(fitted[1])
    assert posterior_files.LARGE == 200e6 and not kept.is_large
    assert (kept.keep, kept.step, kept.kept, kept.name) == ("all", 1, 450, "posterior.nc")
    assert posterior_files.kept_posterior(fitted[1], "thinned").step == 1
    golden.says(kept.in_words("p.nc"), "each chain:")


@pytest.mark.usefixtures("small_limit")
def test_large_posteriors_are_thinned(fitted, tmp_path, golden):
    data, tree = fitted
    file = kept = posterior_files.kept_posterior(tree)
    assert (kept.keep, kept.step, kept.kept, kept.is_large) == ("thinned", 4, 113, True)
    assert kept.bytes_kept < kept.bytes / 3.5
    words = kept.in_words("posterior.nc")
    assert "keep='all'" in words
    golden.says(words, "each chain")
    page = reports.make(tree, annotations=data).write(tmp_path)
    golden.says(page.read_text("utf-8"), "the 450 draws")
    found = read_posterior(tmp_path / "posterior.nc")
    assert found.attrs["thinned"] == 4 and (tmp_path / "posterior.nc").stat().st_size < file.bytes
    for group in ("posterior", "log_likelihood"):
        kept = tree[group].to_dataset().isel(draw=slice(None, None, 4))
        for name, draws in kept.data_vars.items():
            error = abs(found[group][name] - draws).max(("chain", "draw"))
            assert (error <= 0.01 * draws.std(("chain", "draw"), ddof=1) / np.sqrt(2 * 113) + 1e-7).all()
    assert evaluation.threshold_certainty(found, 0.0).sizes["item"] == 12
    numbers = (tmp_path / "locations.csv").read_text("utf-8")
    reports.make(tree, annotations=data).write(tmp_path / "all", keep="all")
    assert (tmp_path / "all" / "locations.csv").read_text("utf-8") == numbers
    assert read_posterior(tmp_path / "all" / "posterior.nc")["posterior"].sizes["draw"] == 450


def test_a_hundred_draws_are_kept(fitted, monkeypatch, golden):
    monkeypatch.setattr(posterior_files, "LARGE", 1)
    kept = posterior_files.kept_posterior(fitted[1])
    assert (kept.step, kept.kept) == (4, 113)
    short = fitted[1].isel(draw=slice(150))
    assert posterior_files.kept_posterior(short).kept == 150
    golden.says(posterior_files.kept_posterior(short).in_words("p.nc"), "Thinning keeps")
    golden.says(posterior_files.kept_posterior(short, "all").in_words("p.nc"), "keep='thinned'")


def test_a_summary_has_no_draws(fitted, tmp_path, golden):
    data, tree = fitted
    page = reports.make(tree, annotations=data).write(tmp_path, keep="summary")
    assert "posterior_summary.nc has mean" in page.read_text("utf-8")
    assert not (tmp_path / "posterior.nc").exists()
    with xr.open_datatree(tmp_path / "posterior_summary.nc", engine="h5netcdf") as found:
        own = found["posterior_summary"].to_dataset().load()
    assert "draw" not in own.dims
    location = tree["posterior"]["location"]
    columns = dict(zip(own["statistic"].to_numpy(), own["location"].to_numpy(), strict=True))
    assert columns["mean"] == pytest.approx(location.mean(("chain", "draw")).to_numpy())
    assert columns["95 %"] == pytest.approx(location.quantile(0.95, ("chain", "draw")).to_numpy())
    for name, statistic in (("R-hat", arviz.rhat), ("bulk ESS", arviz.ess)):
        theirs = statistic(tree["posterior"].to_dataset()[["location"]])["location"].to_numpy()
        assert columns[name] == pytest.approx(theirs, rel=1e-6)
    with golden.raises(ValueError):
        read_posterior(tmp_path / "posterior_summary.nc")


def test_variables_without_items_are_summarised():
    draws = np.random.default_rng(1).normal(size=(2, 100))
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"mu": (("chain", "draw"), draws)})})
    assert posterior_files.summary_of(tree)["posterior_summary"]["mu"].sel(statistic="sd") == pytest.approx(
        draws.std(ddof=1)
    )


def test_other_words_are_refused(fitted, tmp_path, golden):
    with golden.raises(ValueError):
        reports.make(fitted[1], annotations=fitted[0]).write(tmp_path, keep="some")
