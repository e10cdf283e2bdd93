"""Ctrl-C and SIGTERM: one message that says what is kept and the command that goes on, and the exit code of the signal."""

import signal
from types import SimpleNamespace

import pytest
import typer
import xarray as xr
import zarr
from raterzoo import models
from raterzoo.cli import fitting
from raterzoo.cli.terminal import exit_on_input_error
from raterzoo.inference.storage import posterior_files, resumable_calls
from raterzoo.inference.storage import store as draw_stores
from raterzoo.inference.storage.untrusted_files import WRITTEN

from tests.support.command_line import run, write
from tests.support.runs import Run

QUICK = ("--draws", 60, "--chains", 2, "--seed", 3)


@pytest.fixture
def annotations(tmp_path):
    cases = models.published_ddx_cases()
    return write(tmp_path / "annotations.csv", cases.select(items=cases.items[:2]).to_table())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_fit_that_is_stopped_says_how_to_go_on(number, annotations, tmp_path, monkeypatch):
    store, advance = tmp_path / "my run.zarr", Run.advance

    def stopped(own, n):
        if own.drawn == 20:
            signal.raise_signal(number)
        return advance(own, n)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "advance", stopped)
        patched.setattr(draw_stores, "FEWEST_BLOCKS", 6)
        result = run("fit", annotations, "-o", store, *QUICK)
    assert result.exit_code == 128 + number
    (line,) = result.output.strip().splitlines()
    command = f"raterzoo fit --resume '{store}'"
    assert line == f"raterzoo: stopped: {store} keeps 30 of 60 draws of each chain; go on by: {command}"
    assert run("fit", "--resume", store).exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_before_anything_is_written_the_same_command_begins_anew(number, annotations, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "build", lambda *_, **__: signal.raise_signal(number))
    before = signal.getsignal(signal.SIGTERM)
    for output in ("run.zarr", "run.nc"):
        result = run("fit", annotations, "-o", tmp_path / output, *QUICK)
        assert result.exit_code == 128 + number
        said = "nothing has been written yet; the same command begins anew"
        assert result.output == f"raterzoo: stopped: {said}\n"
    assert signal.getsignal(signal.SIGTERM) is before


def stopped(*arguments, **options):
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_store_that_is_finished_is_named(annotations, tmp_path, monkeypatch):
    """Stopped while the verdict is computed, which `--resume` repeats, or printed."""
    store = tmp_path / "run.zarr"
    monkeypatch.setattr(fitting.inference, "diagnose", stopped, raising=False)
    again = f"its convergence verdict is printed by: raterzoo fit --resume {store}"
    for command in (
        ("fit", annotations, "--kind", "rankings", "-o", store, *QUICK),
        ("fit", "--resume", store),
    ):
        result = run(*command)
        assert result.exit_code == 130
        assert result.output == f"raterzoo: stopped: the posterior is complete in {store}; {again}\n"
    result = run("fit", annotations, "-o", store, *QUICK)  # not ours
    assert result.exit_code == 2 and "exists already" in result.output


def test_a_store_that_is_not_finished_is_resumed_or_the_command_repeated(tmp_path, golden):
    resumed, repeated = tmp_path / "my run.zarr", tmp_path / "parts.zarr"
    for store, attrs in ((resumed, {WRITTEN: 0}), (repeated, {WRITTEN: 0, resumable_calls.ARGUMENTS: "{}"})):
        zarr.create_group(store, attributes=attrs)
    assert (
        posterior_files.left_by_fit(resumed).on_command_line == f"go on by: raterzoo fit --resume '{resumed}'"
    )
    assert posterior_files.left_by_fit(repeated) == resumable_calls.how_to_repeat(repeated)
    with golden.raises(ValueError):
        posterior_files.stored(resumed)


def test_a_file_that_may_be_half_written_is_named(annotations, tmp_path, monkeypatch):
    monkeypatch.setattr(
        fitting, "draw", lambda *_, **options: {1.0: xr.DataTree.from_dict({"posterior": xr.Dataset()})}
    )
    monkeypatch.setattr(
        fitting.inference, "diagnose", lambda _: xr.Dataset(attrs={"verdict": ""}), raising=False
    )
    kept = SimpleNamespace(is_large=False, write=stopped)
    monkeypatch.setattr(fitting, "kept_posterior", lambda *_: kept)
    result = run("fit", annotations, "-o", tmp_path / "run.nc", *QUICK)
    said = f"{tmp_path / 'run.nc'} may be incomplete; the same command writes it anew"
    assert result.exit_code == 130 and result.output.strip() == f"raterzoo: stopped: {said}"


def test_a_command_that_does_not_know_what_is_written_says_nothing_of_it(capsys):
    with pytest.raises(typer.Exit) as end:
        exit_on_input_error(stopped)()
    assert end.value.exit_code == 130 and capsys.readouterr().err == "raterzoo: stopped\n"


def test_a_call_in_shards_is_repeated(tmp_path, golden):
    golden.says(resumable_calls.how_to_repeat(tmp_path).on_command_line)
    golden.says(resumable_calls.how_to_repeat(tmp_path / "no.zarr").in_python)
