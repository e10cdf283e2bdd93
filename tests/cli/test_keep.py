"""`--keep` of fit and report: all draws, thinned ones or a summary, announced where the posterior is large."""

import pytest
from raterzoo import evaluation, inference
from raterzoo.inference import kept_draws
from raterzoo.reports import posterior_files

from tests.support.command_line import run, said, write
from tests.support.stores import read_posterior

ITEMS = [f"i{k}" for k in range(6) for _ in range(3)]
TABLE = {"item": ITEMS, "rater": [*"rst"] * 6, "score": [float(k * k % 7) for k in range(18)]}
ASKED = ("--kind", "scores", "--draws", 300, "--chains", 2)


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "scores.csv", TABLE)


def draws_in(path):
    return read_posterior(path)["posterior"].sizes["draw"]


@pytest.mark.slow
def test_small_posteriors_are_written_without_a_word(table, tmp_path):
    result = run("fit", table, *ASKED, "-o", tmp_path / "p.nc")
    assert result.exit_code == 0 and " MB" not in result.output, result.output
    assert draws_in(tmp_path / "p.nc") == 300


@pytest.mark.slow
def test_large_posteriors_are_announced_and_thinned(table, tmp_path, monkeypatch, golden):
    monkeypatch.setattr(posterior_files, "LARGE", 1)
    result = run("fit", table, *ASKED, "-o", tmp_path / "p.nc")
    assert "--keep all" in said(result)
    golden.says(result.output, "each chain")
    assert draws_in(tmp_path / "p.nc") == 100
    result = run("report", table, *ASKED, "--out", tmp_path / "out")
    assert result.exit_code == 0 and said(result).count("posterior.nc has 100 of the 300 draws") == 1
    assert draws_in(tmp_path / "out" / "posterior.nc") == 100
    result = run("report", table, *ASKED, "--out", tmp_path / "whole", "--keep", "all")
    golden.says(result.output, "all 300 draws", "--keep thinned")
    assert draws_in(tmp_path / "whole" / "posterior.nc") == 300


@pytest.mark.slow
def test_a_summary_has_no_draws_of_the_items(table, tmp_path, golden):
    result = run("fit", table, *ASKED, "-o", tmp_path / "p.nc", "--keep", "summary")
    assert result.exit_code == 0, result.output
    golden.says(result.output, "each chain,")
    tree = read_posterior(tmp_path / "p.nc")
    assert tree["item_summary"]["location"].sizes == {"statistic": 11, "item": 6}
    assert "location" not in tree.children.get("posterior", {})
    assert inference.diagnose(tree).attrs["draws"] == 300
    with golden.raises(evaluation.DrawsNotKept):
        evaluation.threshold_certainty(tree, 3.0)
    result = run("report", table, *ASKED, "--out", tmp_path / "out", "--keep", "summary")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "posterior_summary.nc").exists()


def test_thinned_draws_have_summaries_of_all(table, tmp_path, monkeypatch, golden):
    monkeypatch.setattr(kept_draws, "MOST", 100)
    result = run("fit", table, *ASKED, "-o", tmp_path / "p.nc", "--keep", "thinned")
    golden.says(result.output, "each chain")
    assert read_posterior(tmp_path / "p.nc").attrs["kept_every"] == 6


def test_stores_have_all_draws(table, tmp_path, golden):
    result = run("fit", table, *ASKED, "-o", tmp_path / "p.zarr", "--keep", "thinned")
    assert result.exit_code == 2
    golden.says(result.output, "while sampling;")


def test_stores_of_workers_keep_what_is_asked_for(tmp_path, golden):
    asked = ("--kind", "labels", "--model", "dawid_skene", "--workers", 1, "--keep", "summary")
    rows = {"item": ITEMS, "rater": [*"rst"] * 6, "label": [str(k % 2) for k in range(18)]}
    table = write(tmp_path / "labels.csv", rows)
    result = run("fit", table, *asked, "-o", tmp_path / "p.zarr")
    assert result.exit_code == 2
    golden.says(said(result))


@pytest.mark.slow
def test_simulated_annotations_are_written_and_not_thinned(table, tmp_path, monkeypatch):
    monkeypatch.setattr(posterior_files, "LARGE", 1)
    result = run("fit", table, *ASKED, "-o", tmp_path / "p.nc", "--predictive")
    assert result.exit_code == 0, result.output
    tree = read_posterior(tmp_path / "p.nc")
    assert tree["posterior"].sizes["draw"] == 100
    replicates = tree["posterior_predictive"]["observed_score"]
    assert replicates.sizes["chain"] * replicates.sizes["draw"] == 200
    assert evaluation.model_checks(tree).attrs["replicates"] == 200


@pytest.mark.parametrize(
    "options", [("-o", "p.zarr"), ("-o", "p.nc", "--keep", "summary"), ("-o", "p.nc", "--kind", "rankings")]
)
def test_where_simulated_annotations_cannot_be_written(table, options, golden):
    result = run("fit", table, *ASKED, *options, "--predictive")
    assert result.exit_code == 2
    golden.says(said(result))


@pytest.mark.slow
def test_the_demo_takes_it_too(tmp_path, monkeypatch, golden):
    row = {"figure": "fig5", "item": "A", "classifier": "B", "model": "plackett_luce", "printed": 0.5}
    row |= {"ours": 0.5, "difference": 0.0, "z": 0.0}
    monkeypatch.setattr("raterzoo.cli.demo.compare_with_paper", lambda seed: [row])
    result = run("demo", "--keep", "summary", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "posterior_summary.nc").exists() and not (tmp_path / "posterior.nc").exists()
    golden.says((tmp_path / "report.html").read_text(), "draws, which")
