"""Remedies are in the words of the reader, and are carried out before they are given."""

import numpy as np
import pandas as pd
import pytest
import raterzoo
import xarray as xr
from raterzoo import inference
from raterzoo._messages import by_options, way
from raterzoo.reports.analyses import drawing
from raterzoo.reports.analyses.analysis import answers_of
from raterzoo.reports.embedded import cell_text
from raterzoo.reports.sections.comparisons import side_for
from raterzoo.reports.sections.next_annotation import question_section

SOUND = {"converged": False, "diverged": 0, "draws": 16000, "checks": 0, "failed": 0, "first_failure": ""}
SCORES = {"highest": "a", "items": 2, "sure": 0.9, "told_apart": False, "misfit": False} | {
    "location": {"mean": 1.0, "low": 0.5, "high": 1.5}
}


def test_options_on_the_command_line_and_arguments_in_python():
    assert side_for("rater") == 'left_side="rater"'
    with by_options():
        assert side_for("rater") == "--left-side rater" and way("a", "b") == "a"
    assert way("a", "b") == "b"


def rely(**sound):
    (found,) = (
        own for own in answers_of("scores", SCORES | {"sound": SOUND | sound}) if "rely" in own.question
    )
    return found


def test_draws_that_diverged_are_no_reason_to_draw_more():
    assert "draws=16000" in rely().text and rely().grade == "red"
    with by_options():
        assert "--draws 16000" in rely().text
    assert "16000" not in rely(diverged=3).text and "models.catalog" in rely(diverged=3).text


@pytest.mark.parametrize(
    ("method", "divergences", "converges", "drawn"),
    [
        ("gibbs", 0, [False, False, True], [(10, None), (20, None), (40, None)]),
        ("gibbs", 0, [True], [(10, None)]),
        ("nuts", 2, [False, True], [(10, None), (10, drawing.SMALL_STEPS)]),
        ("nuts", 0, [False], [(10, None)]),
    ],
)
def test_draws_go_on_until_they_agree(monkeypatch, method, divergences, converges, drawn):
    calls = []

    def sample(model, *, draws, target_accept=None):
        calls.append((draws, target_accept))
        return tree

    tree = xr.DataTree()
    tree.attrs["method"] = method
    found = iter(converges)
    diagnosis = xr.Dataset({"divergences": ("chain", [divergences])})
    monkeypatch.setattr(inference, "sample", sample)
    monkeypatch.setattr(inference, "diagnose", lambda own: diagnosis.assign_attrs(converged=int(next(found))))
    drawing.draw(None, 10)
    assert calls == drawn


def test_categories_of_a_file_may_be_numbers_and_frames_keep_their_type(tmp_path):
    frame = pd.DataFrame({"item": [*"aabb"], "rater": [*"xyxy"], "label": [1, 1, 2, 1]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    of_file = raterzoo.read(tmp_path / "t.csv", "labels", categories=[1, 2, 3])
    of_frame = raterzoo.read(frame, "labels", categories=[1, 2, 3])
    assert of_file.categories.tolist() == ["1", "2", "3"] and of_frame.categories.tolist() == [1, 2, 3]
    analysis = raterzoo.analyse(of_frame, draws=50, chains=2, progressbar=False)
    assert np.issubdtype(analysis.items["label"].dtype, np.integer)
    assert analysis.items["vote"].tolist()[0] == 1


def test_information_is_relative_to_the_first_question():
    rows = [{"left": "a", "right": "b", "bits": 4e-5}, {"left": "a", "right": "c", "bits": 1e-5}]
    section = question_section(rows, ["a with b", "a with c"], asked="to compare")
    assert [row["information"] for row in section.table] == ["100 %", "25 %"]
    assert section.rows[0]["bits"] == 4e-5


def test_cells_have_no_decimals_that_say_nothing():
    assert [cell_text(own) for own in (2252.63, 12.34, 0.1234)] == ["2,253", "12.3", "0.123"]
