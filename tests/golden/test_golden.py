"""Files of earlier versions are read, and say what they said when they were written."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from raterzoo import __version__, evaluation, inference
from raterzoo.reports import page as machine

from tests.support.command_line import run, said
from tests.support.golden_files import GOLDEN, SOURCES, VERSIONS, container_of, numbers_of, tables
from tests.support.stores import read_posterior, write_posterior

FILES = [(version, name) for version in VERSIONS for name in SOURCES]


@pytest.fixture(scope="module")
def posteriors(tmp_path_factory):
    """Return the folder of the posteriors of a version, out of its archive."""
    unpacked = tmp_path_factory.mktemp("posteriors")
    for version in VERSIONS:
        with tarfile.open(GOLDEN / version / "posteriors.tar.xz") as file:
            file.extractall(unpacked / version, filter="data")
    return unpacked


def assert_same_numbers(found, expected):
    assert found.keys() == expected.keys()
    for what, number in expected.items():
        np.testing.assert_allclose(found[what], number, rtol=1e-12, err_msg=what)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@pytest.mark.parametrize(("version", "name"), FILES)
def test_posteriors_are_read(posteriors, version, name, suffix):
    expected = json.loads((GOLDEN / version / "numbers.json").read_text())[name]
    tree = read_posterior(posteriors / version / f"{name}{suffix}")
    assert tree.attrs["schema_version"] == (1 if version == "0.1.0" else 2)
    assert json.loads(tree.attrs["versions"])["raterzoo"] == version
    assert_same_numbers(numbers_of(name, tree), expected)


def test_dim_of_answers_of_old_trees_is_renamed(posteriors):
    path = posteriors / "0.1.0" / "dawid_skene.nc"
    with xr.open_datatree(path, engine="h5netcdf") as stored:
        old = stored.load()
    new = read_posterior(path).load()
    assert old["posterior"]["confusion"].dims[-1] == "label"
    assert new["posterior"]["confusion"].dims[-1] == "answer"
    xr.testing.assert_identical(evaluation.rater_quality(old), evaluation.rater_quality(new))
    assert inference.diagnose(old).attrs["verdict"] == inference.diagnose(new).attrs["verdict"]
    xr.testing.assert_identical(
        inference.design.next_to_ask(old, random_seed=1), inference.design.next_to_ask(new, random_seed=1)
    )
    assert inference.relabel(old)["posterior"]["confusion"].dims[-1] == "answer"


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_are_read(posteriors, version):
    for source in ("rankings", "labels", "votes", "scores"):
        container = container_of(GOLDEN / version, source)
        items = sorted(set(tables()[source].get("item", ["<b>", "4", "i 0", "i 1"])))
        assert sorted(container.items) == items and len(container.raters) == 3
    fitted = read_posterior(posteriors / version / "dawid_skene.nc")
    labels = container_of(GOLDEN / version, "labels")
    codes = fitted["constant_data"]["annotation_item"].values
    np.testing.assert_array_equal(fitted["posterior"]["item"].values[codes], labels.items[labels.annotation_item])  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_reports_keep_their_keys_and_numbers(posteriors, version):
    report = json.loads((GOLDEN / version / "report.json").read_text())
    assert report["schema"] <= machine.SCHEMA
    if report["schema"] == machine.SCHEMA:
        documented = (Path(__file__).parents[2] / "docs" / "report.md").read_text("utf-8")
        undocumented = [key for key in report if f"`{key}`" not in documented]
        assert not undocumented
    certainty = numbers_of("dawid_skene", read_posterior(posteriors / version / "report.nc"))
    for row in report["certainty"]["rows"]:
        assert row["certainty"] == pytest.approx(certainty[f"certainty of {row['item']}"], rel=1e-9)


def test_this_version_has_golden_files():
    assert __version__ in VERSIONS
    size = sum(path.stat().st_size for path in (GOLDEN / __version__).iterdir())
    assert size < 150_000


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_tree_of_another_program_has_no_schema_and_is_read(posteriors, suffix, tmp_path):
    name = "plackett_luce"
    tree = read_posterior(posteriors / __version__ / f"{name}.nc").load()
    bare = xr.DataTree.from_dict({group: node.to_dataset() for group, node in tree.children.items()})
    write_posterior(bare, tmp_path / f"bare{suffix}")
    expected = json.loads((GOLDEN / __version__ / "numbers.json").read_text())[name]
    again = read_posterior(tmp_path / f"bare{suffix}")
    assert "schema_version" not in again.attrs
    assert_same_numbers(numbers_of(name, again), expected)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@pytest.mark.parametrize("schema", [3, "newer"])
def test_a_newer_schema_is_refused(posteriors, schema, suffix, tmp_path):
    tree = read_posterior(posteriors / __version__ / "dirichlet.nc").load()
    tree.attrs["schema_version"] = schema
    path = tmp_path / f"newer{suffix}"
    write_posterior(tree, path)
    with pytest.raises(ValueError, match=f"schema_version {schema}.*reads 2"):
        read_posterior(path)
    result = run("evaluate", path, GOLDEN / __version__ / "labels.csv")
    assert result.exit_code == 2 and f"schema_version {schema}" in said(result)
