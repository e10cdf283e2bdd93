"""A fit that is interrupted leaves its draws, and goes on."""

import pytest
from raterzoo import models
from raterzoo.inference.storage import store as draw_stores

from tests.support.command_line import read, run, write
from tests.support.resumable_runs import assert_same_bits
from tests.support.runs import Run
from tests.support.stores import read_draws

QUICK = ("--draws", 60, "--chains", 2, "--seed", 3)


@pytest.fixture
def annotations(tmp_path):
    cases = models.published_ddx_cases()
    return write(tmp_path / "annotations.csv", cases.select(items=cases.items[:2]).to_table())


@pytest.fixture
def predictions(tmp_path):
    """Probabilities of a classifier for the two items."""
    cases = models.published_ddx_cases()
    items, categories = cases.items[:2].tolist(), cases.categories.tolist()
    rows = [(item, category, 1 / len(categories)) for item in items for category in categories]
    return write(
        tmp_path / "law.csv", dict(zip(("item", "category", "score"), zip(*rows, strict=True), strict=True))
    )


PRIOR = pytest.param(("--prior-predictions",), id="prior predictions", marks=pytest.mark.slow)


@pytest.fixture(params=[pytest.param((), id="annotations"), PRIOR])
def options(request, predictions):
    return (*QUICK, *request.param, *([predictions] if request.param else []))


@pytest.fixture
def interrupted(annotations, options, tmp_path, monkeypatch):
    """A store of a fit that was interrupted after its second piece."""
    store, advance = tmp_path / "run.zarr", Run.advance

    def until(own, n):
        if own.drawn >= 20:
            raise KeyboardInterrupt
        return advance(own, n)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "advance", until)
        patched.setattr(draw_stores, "FEWEST_BLOCKS", 6)
        assert run("fit", annotations, "-o", store, *options).exit_code != 0
    return store


@pytest.mark.slow
def test_an_interrupted_fit_is_resumed(annotations, options, interrupted, tmp_path):
    if options == QUICK:
        table = write(tmp_path / "p.csv", {"item": ["fig3"], "category": ["Eczema"], "rank": [1]})
        found = run("evaluate", interrupted, table)  # items are missing, the store is read
        assert found.exit_code == 2 and "no posterior" not in found.output
    result = run("fit", "--resume", interrupted)
    assert result.exit_code == 0 and f"wrote {interrupted}" in result.output, result.output
    whole = tmp_path / "whole.zarr"
    assert run("fit", annotations, "-o", whole, *options).exit_code == 0
    one, other = (read_draws(path) for path in (interrupted, whole))
    assert_same_bits(dict(one.children), dict(other.children))
    assert run("fit", "--resume", whole).exit_code == 0  # finished: nothing is drawn
    again = run("fit", "--resume", whole, "--strict")  # so few draws have not converged
    assert again.exit_code == 1 and "NOT converged" in again.output and f"wrote {whole}" in again.output


def test_strict_fits_tell_by_their_exit_code(annotations, tmp_path):
    for model, code in (("plackett_luce", 1), ("prirn", 0)):  # so few draws converge if they are independent
        options = ("--model", model, *QUICK, "--strict", "-o", tmp_path / f"{model}.nc")
        assert run("fit", annotations, *options).exit_code == code
        assert (tmp_path / f"{model}.nc").exists()
    result = run("fit", annotations, "--strict", "--workers", 2, "-o", tmp_path / "w.zarr")
    assert result.exit_code == 2 and "--strict: with --workers" in result.output


@pytest.mark.parametrize("options", [QUICK])
@pytest.mark.parametrize(
    "arguments",
    [
        ["--resume", "{store}", "{annotations}"],
        ["--resume", "{store}", "--draws", "1000"],
        ["--resume", "{store}", "-o", "x.zarr", "--model", "prirn", "--workers", "3"],
        ["--resume", "nowhere.zarr"],
        ["--resume", "{annotations}"],
        ["{annotations}", "-o", "{store}"],
        ["{annotations}"],
        [],
    ],
)
def test_wrong_uses_are_one_message(arguments, annotations, interrupted, golden):
    result = run("fit", *(a.format(annotations=annotations, store=interrupted) for a in arguments))
    assert result.exit_code == 2, result.output
    golden.says(result.output)
    assert len(result.output.strip().splitlines()) == 1


def test_nothing_of_the_table_is_needed_to_go_on(annotations, interrupted):
    assert read(annotations)
    annotations.unlink()
    assert run("fit", "--resume", interrupted).exit_code == 0
