"""Ctrl-C and SIGTERM: one message that says what is kept and the command that goes on, and the exit code of the signal."""

import signal

import pytest
from raterzoo import models
from raterzoo.cli import fitting
from raterzoo.inference import checkpoints
from raterzoo.inference.runs.run import Run
from raterzoo.inference.storage.resumable_calls import how_to_repeat

from tests.support.command_line import run, write

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
        patched.setattr(checkpoints, "FEWEST_BLOCKS", 6)
        result = run("fit", annotations, "-o", store, *QUICK)
    assert result.exit_code == 128 + number
    (line,) = result.output.strip().splitlines()
    command = f"raterzoo fit --resume '{store}'"
    assert line == f"raterzoo: stopped: {store} keeps 30 of 60 draws of each chain; go on by: {command}"
    assert run("fit", "--resume", store).exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_before_anything_is_written_the_same_command_begins_anew(number, annotations, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "build", lambda *_: signal.raise_signal(number))
    before = signal.getsignal(signal.SIGTERM)
    for output in ("run.zarr", "run.nc"):
        result = run("fit", annotations, "-o", tmp_path / output, *QUICK)
        assert result.exit_code == 128 + number
        said = "nothing has been written yet; the same command begins anew"
        assert result.output == f"raterzoo: stopped: {said}\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_store_that_is_finished_is_named(annotations, tmp_path, monkeypatch):
    """Stopped while the verdict is computed."""
    store, sample = tmp_path / "run.zarr", fitting.inference.sample

    def stopped(*arguments, **options):
        sample(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting.inference, "sample", stopped, raising=False)
    result = run("fit", annotations, "-o", store, *QUICK)
    assert result.exit_code == 130 and f"go on by: raterzoo fit --resume {store}\n" in result.output


def test_a_call_in_shards_is_repeated(tmp_path):
    assert how_to_repeat(tmp_path).on_command_line == "the same command goes on with it"
    assert how_to_repeat(tmp_path / "no.zarr").in_python == "the same call begins anew"
