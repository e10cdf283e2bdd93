"""Command `plan`."""

import json

import pytest
import xarray as xr
from raterzoo.inference.design import Precision, Prices, plan, stated_skills

from tests.support.command_line import read, run, said

STATED = ("--people", ".8,.05", "--classifier", "net=.85")
SIZES = ("--items", "40,20", "--raters", "2", "--simulations", "4")


def test_numbers_are_those_of_the_function(tmp_path, golden):
    out = tmp_path / "plan.json"
    done = run("plan", *STATED, *SIZES, "--width", ".4", "--price-item", "2", "--out", out)
    assert done.exit_code == 0, done.output
    skills = stated_skills((0.8, 0.05), {"net": 0.85}, random_seed=1)
    options = {"price": Prices(item=2), "simulations": 4, "random_seed": 1, "progressbar": False}
    found = plan(Precision(0.4), skills, items=[20, 40], raters=[2], **options)
    written = json.loads(out.read_text())
    assert [row["width"] for row in written["designs"]] == found["width"].to_numpy().ravel().tolist()
    assert [row["cost"] for row in written["designs"]] == [80, 160]
    assert written["verdict"] == found.attrs["verdict"]
    shown = said(done)
    assert " ".join(found.attrs["verdict"].split()) in shown
    golden.says(shown, "independent given")


def test_pilots_and_decisions(tmp_path):
    skills = stated_skills(0.8, {"a": 0.9, "b": 0.6, "c": 0.6}, pool=3, random_seed=1)
    pilot, out = tmp_path / "pilot.nc", tmp_path / "plan.csv"
    posterior = skills["posterior"].to_dataset().isel(draw=slice(50))
    tree = xr.DataTree.from_dict({"posterior": posterior})
    tree.attrs["model"] = "dawid_skene"
    tree.to_netcdf(pilot, engine="h5netcdf")
    done = run(
        "plan",
        pilot,
        *SIZES,
        "--decide",
        ".9",
        "--classifier",
        "a",
        "--classifier",
        "b",
        "--pool",
        "5",
        "--out",
        out,
    )
    assert done.exit_code == 0, done.output
    rows = read(out)
    assert len(rows) == 2 and {"right", "wrong"} <= rows[0].keys()


@pytest.mark.parametrize(
    "arguments",
    [
        (*STATED, *SIZES),
        (*STATED, *SIZES, "--width", ".1", "--decide", ".9"),
        (*SIZES, "--width", ".1"),
        (*STATED, "--items", "40,x", "--raters", "2", "--width", ".1"),
        (*STATED, *SIZES, "--width", ".1", "--prevalence", "a"),
        ("--people", "a", "--classifier", "net=.8", *SIZES, "--width", ".1"),
        ("--people", ".8", "--classifier", "net", *SIZES, "--width", ".1"),
        ("pilot.nc", *STATED, *SIZES, "--width", ".1"),
        ("pilot.nc", *SIZES, "--width", ".1"),
        (*STATED, *SIZES, "--width", ".1", "--out", "plan.txt"),
        (*STATED, *SIZES, "--decide", ".9"),
        (*STATED, "--items", "40", "--raters", "20", "--width", ".1"),
        (*STATED, *SIZES, "--width", ".1", "--price-answer", "-1"),
        (*STATED, *SIZES, "--decide", ".2"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_one_message(arguments, golden):
    done = run("plan", *arguments)
    assert done.exit_code == 2, done.output
    golden.says(said(done))
