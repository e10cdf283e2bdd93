"""Progress: draws in portions are those at once; a terminal is told what runs, another reader nothing."""

import sys
import warnings

import numba
import pytest
import xarray as xr
from raterzoo import _messages, inference
from raterzoo.inference import sampling
from rich.console import Console

from tests.support.resumable_runs import BUILD


class Lines:
    """A display that keeps what it is told."""

    def __init__(self):
        self.texts, self.moved, self.progress = [], 0.0, self

    available = True

    def open(self, text, total, completed):
        self.texts.append(text)
        return 0

    def update(self, task, description):
        self.texts.append(description)

    def advance(self, task, amount):
        self.moved += amount

    def close(self, task):
        pass


@pytest.fixture
def lines(monkeypatch):
    shown = Lines()
    monkeypatch.setattr(_messages, "_display", shown)
    monkeypatch.setattr(sampling, "SECONDS", 0.0)  # portions do not grow
    return shown


@pytest.mark.parametrize("name", BUILD)
def test_draws_in_portions_are_those_at_once(name, lines):
    options = {"draws": 30, "tune": 10, "chains": 2, "cores": 1, "thin": 1, "random_seed": 1}
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        shown = inference.sample(BUILD[name](), **options)
        silent = inference.sample(BUILD[name](), progressbar=False, **options)
    for group in shown.children:
        xr.testing.assert_identical(shown[group].to_dataset(), silent[group].to_dataset())
    by_items = shown["posterior"].sizes["chain"] * 7  # published cases
    assert "Setting up the sampler" in lines.texts and lines.moved == (
        by_items if name == "plackett_luce" else 30
    )


def test_compilation_is_named_while_it_lasts(lines):
    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    with _messages.compiled_step("Drawing"):
        assert outer(1) == 4
        assert (
            lines.texts[0] == "Drawing"
            and _messages.COMPILING in lines.texts
            and lines.texts[-1] == "Drawing"
        )
        told = len(lines.texts)
        outer(2)
    assert len(lines.texts) == told  # compiled already


def test_without_a_terminal_nothing_is_written(capsys):
    with _messages.step("Reading", 3) as step:
        step.advance()
        step.describe("Other")
    assert not step.visible and capsys.readouterr() == ("", "")


def test_a_terminal_shows_open_steps_and_is_clean_while_text_is_printed(monkeypatch, capsys):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(_messages, "DELAY", 0.01)
    with _messages.step("Reading [answers].csv"), _messages.step("Rows", 8) as rows:
        rows.advance(2)
        _messages._display._timer.join()
        _messages._display.progress.refresh()
        with _messages.paused():
            sys.stdout.write("a line\n")
            assert not _messages._display._live
        _messages._display.progress.refresh()
    out, err = capsys.readouterr()
    assert out == "a line\n" and "Reading [answers].csv" in err and "25%" in err
    assert _messages._display._progress is None


def test_nuts_says_that_it_compiles_and_shows_its_own_progress(monkeypatch, capsys):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    text = "Compiling the model for NUTS"
    with _messages.step("raterzoo fit"), _messages.handed_over(text, shown=True):
        assert not _messages._display._live
    assert capsys.readouterr().err.startswith(text + "\n")
    with _messages.handed_over(text, shown=False):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("widgets", [True, False])
def test_a_notebook_without_widgets_shows_no_bars_and_no_warnings(widgets, monkeypatch):
    monkeypatch.setattr(Console, "is_terminal", False)
    monkeypatch.setattr(Console, "is_jupyter", True, raising=False)
    monkeypatch.setattr(Console, "__init__", lambda self, stderr: None)
    monkeypatch.setattr(_messages, "find_spec", lambda name: name == "ipywidgets" if widgets else None)
    assert bool(_messages._Display().available) is widgets
