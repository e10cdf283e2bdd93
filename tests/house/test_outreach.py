"""Files to be offered to other projects meet the rules that these publish."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from raterzoo import inference, models

from tests.support.notebook_cells import OUTREACH, cells_of_notebook, cells_of_script

HOME = OUTREACH.parent / "posterior_database"
NAMES = sorted(path.stem for path in (HOME / "posteriors").glob("*.json"))
WRITER = runpy.run_path(str(OUTREACH.parent / "reference_posteriors.py"), run_name="writer")


def read(path):
    return json.loads((HOME / path).read_text())


def zipped(path):
    """Return the one member of an archive, which posteriordb wants to bear the name of the archive without .zip."""
    with ZipFile(HOME / f"{path}.zip") as archive:
        assert archive.namelist() == [Path(path).name]
        return json.loads(archive.read(Path(path).name))


@pytest.mark.parametrize("name", NAMES)
def test_a_posterior_has_what_the_reader_of_posteriordb_asserts(name):
    entry = read(f"posteriors/{name}.json")
    data, model = (
        read(f"{kind}/info/{entry[f'{key}_name']}.info.json")
        for kind, key in (("data", "data"), ("models", "model"))
    )
    reference = read(f"reference_posteriors/draws/info/{entry['reference_posterior_name']}.info.json")
    assert entry["name"] == reference["name"] == name == f"{data['name']}-{model['name']}"
    for record in (entry, data, model, reference):
        assert record["added_by"] and re.fullmatch(r"\d{4}-\d{2}-\d{2}", record["added_date"])
    assert data["data_file"] == f"data/data/{data['name']}.json"
    for code in model["model_implementations"].values():
        assert (HOME / code["model_code"]).exists()
    assert set(reference) == {
        *("name", "inference", "diagnostics", "checks_made"),
        *("comments", "added_by", "added_date", "versions"),
    }
    draws = zipped(f"reference_posteriors/draws/draws/{name}.json")
    labels = reference["diagnostics"]["diagnostic_information"]["names"]
    assert [list(chain) for chain in draws] == [labels] * 10
    sizes = [label.partition("[")[0] for label in labels]
    assert {own: sizes.count(own) for own in sizes} == entry["dimensions"]


def test_references_are_those_that_are_cited():
    known = set(re.findall(r"^@\w+\{(\w+),", (HOME / "references/references.bib").read_text(), re.MULTILINE))
    infos = [json.loads(path.read_text()) for path in HOME.glob("*/info/*.info.json")]
    assert known == {cited for info in infos for cited in info["references"]}
    assert set(re.findall(r"\{cite:.\}`(\w+)`", OUTREACH.read_text())) <= known


@pytest.mark.parametrize("name", NAMES)
def test_reference_draws_meet_the_criteria(name):
    draws = zipped(f"reference_posteriors/draws/draws/{name}.json")
    kept = read(f"reference_posteriors/draws/info/{name}.info.json")
    found = kept["diagnostics"] | WRITER["diagnosed"](draws)
    for statistic in ("effective_sample_size_bulk", "effective_sample_size_tail", "r_hat"):
        np.testing.assert_allclose(found[statistic], kept["diagnostics"][statistic], rtol=1e-6)
    assert WRITER["checks"](found) == kept["checks_made"] == dict.fromkeys(kept["checks_made"], True)
    assert kept["diagnostics"]["divergent_transitions"] == [0] * 10
    sticky = [{label: list(np.repeat(own[::2], 2)) for label, own in chain.items()} for chain in draws]
    wrong = WRITER["checks"](found | WRITER["diagnosed"](sticky))
    assert not wrong["ess_within_bounds"] and wrong["ndraws_is_10k"]


def ours(name, kept=slice(None)):
    """Return data of a posterior, the model of raterzoo of all rows or some, and its variables by the names there."""
    data = zipped(f"data/data/{name.partition('-')[0]}.json")
    if name.endswith("dawid_skene"):
        table = {"item": data["ii"], "rater": data["jj"], "label": data["y"]}
        model = models.dawid_skene(models.Labels.from_table(pd.DataFrame(table)[kept]))
        return data, model, {"pi": "prevalence", "theta": "confusion"}
    sides = zip(data["left"], data["right"], data["votes"], strict=True)
    rows = [
        (*pair, who, n)
        for *pair, votes in sides
        for who, n in zip(("left", "right", "tie"), votes, strict=True)
        if n
    ]
    table = pd.DataFrame(rows, columns=["left", "right", "winner", "count"])[kept]
    pairs = models.Comparisons.from_table(table, count="count")
    return data, models.bradley_terry(pairs), {"quality": "quality", "sigma": "quality_scale", "nu": "tie"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_law_there_is_the_law_here(name):
    """Log densities of both models differ by a constant at any points."""
    data, own, names = ours(name)
    file = read(f"models/info/{name.partition('-')[2]}.info.json")["model_implementations"]["pymc"][
        "model_code"
    ]
    theirs = runpy.run_path(str(HOME / file))["model"](data)
    suffixes = ("_simplex__", "_log__", "_zerosum__", "")
    rng, densities = np.random.default_rng(1), [theirs.compile_logp(), own.compile_logp()]
    start, points = theirs.initial_point(), []
    for _ in range(4):
        here = {key: rng.normal(size=np.shape(value)) for key, value in start.items()}
        there = {f"{names[n]}{s}": here[f"{n}{s}"] for n in names for s in suffixes if f"{n}{s}" in here}
        points.append([density(point) for density, point in zip(densities, (here, there), strict=True)])
    found = np.array(points)
    np.testing.assert_allclose(np.diff(found[:, 0]), np.diff(found[:, 1]), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_our_sampler_draws_the_reference_posterior(name):
    draws = zipped(f"reference_posteriors/draws/draws/{name}.json")
    means = {label: np.mean([chain[label] for chain in draws]) for label in draws[0]}

    def largest_z(kept=slice(None)):
        _, model, names = ours(name, kept)
        drawn = inference.sample(model, random_seed=1, progressbar=False)["posterior"]
        distances = []
        for label, mean in means.items():
            variable, _, place = label.rstrip("]").partition("[")
            at = tuple(int(k) - 1 for k in place.split(",") if k)
            own = drawn[names[variable]].to_numpy()[(..., *at)]
            error = np.hypot(
                own.std() / np.sqrt(own.size / 2), own.std() / 100
            )  # half as many independent draws
            distances.append(abs(own.mean() - mean) / error)
        return max(distances)

    assert largest_z() < 5
    assert largest_z(kept=slice(0, -60)) > 8


# --- The notebook for the gallery of PyMC, whose guide asks for a target, a directive and a watermark ---


@pytest.fixture
def notebook():
    return json.loads(OUTREACH.with_suffix(".ipynb").read_text())


def test_the_notebook_is_its_script_run_in_order(notebook):
    assert cells_of_notebook(notebook) == cells_of_script(OUTREACH.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not any(o["output_type"] == "error" or o.get("name") == "stderr" for o in outputs)
    assert not re.search(r" at 0x|/(root|tmp|home|work)/", json.dumps(outputs))
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
    assert 20 <= len(notebook["cells"]) <= 35


def test_the_notebook_has_what_the_guide_asks_for(notebook):
    first, *_, footer = ("".join(cell["source"]) for cell in notebook["cells"])
    whole = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    lines = (
        r"\(annotation_models\)=", "# .+", "", r":::\{post\} \w+ \d+, \d{4}", ":tags: .+",
        r":category: (beginner|intermediate|advanced), \w+", ":author: .+", ":::",
    )  # fmt: skip
    assert re.fullmatch("\n".join(lines), first) and footer == ":::{include} ../page_footer.md\n:::"
    assert re.search(r"%load_ext watermark.*%watermark -n -u -v -iv -w", whole, re.DOTALL)
    assert ":::{include} ../extra_installs.md\n:::" in whole and "## Authors\n* Authored by" in whole
    assert notebook["metadata"]["myst"]["substitutions"]["extra_dependencies"] == "raterzoo"
    assert not re.search(r"https?://", whole)  # other documentation by cross-references
    assert 'az.style.use("arviz-darkgrid")\nRANDOM_SEED = ' in whole


@pytest.mark.slow
def test_the_notebook_runs():
    subprocess.run([sys.executable, OUTREACH], check=True, env=os.environ | {"MPLBACKEND": "Agg"})
