"""The reference posteriors are complete, of the data and models of the program, pass their checks, and meet closed forms."""

import json
import re

import numpy as np
import pytest

from evidence.posteriors.pairs import HERE, LAWS, PAIRS, SOURCES, name_of, read_data, thin_of
from evidence.posteriors.reference import checks

FOLDER = HERE / "reference_posteriors" / "summary_statistics"
NAMES = [name_of(*pair) for pair in PAIRS]


def read(folder, name):
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


def test_there_are_twenty_pairs_with_all_their_files():
    assert len(set(NAMES)) == 20
    for folder, end in ((HERE / "posteriors", ""), (FOLDER / "info", ".info"), (FOLDER / "summary", "")):
        assert {path.name for path in folder.iterdir()} == {f"{name}{end}.json" for name in NAMES}
    for kind, end in (("stan", "stan"), ("pymc", "py"), ("info", "info.json")):
        files = {path.name for path in (HERE / "models" / kind).iterdir() if path.is_file()}
        assert files == {f"{law}.{end}" for law in LAWS}
    for source, law in PAIRS:
        entry = read(HERE / "posteriors", name_of(source, law))
        info = read(FOLDER / "info", f"{name_of(source, law)}.info")
        assert info["inference"]["method_arguments"]["thin"] == thin_of(source, law)
        assert (entry["data_name"], entry["model_name"]) == (source, law)


@pytest.mark.parametrize("source", SOURCES)
def test_data_are_those_of_the_program(source):
    assert read_data(source) == SOURCES[source].make()
    law = next(law for own, law in PAIRS if own == source)
    text = (HERE / "models" / "stan" / f"{law}.stan").read_text("utf-8")
    declared = re.search(r"\ndata \{(.*?)\n\}", text, re.DOTALL)[1]
    assert set(re.findall(r"(\w+);", declared)) == set(read_data(source))


@pytest.mark.parametrize("name", NAMES)
def test_summaries_pass_the_checks(name):
    info, found = read(FOLDER / "info", f"{name}.info"), read(FOLDER / "summary", name)
    assert all(info["checks_made"].values()) and checks(info["diagnostics"]) == info["checks_made"]
    names = found.pop("names")
    assert names == info["diagnostics"]["diagnostic_information"]["names"]
    entry = read(HERE / "posteriors", name)
    assert sum(entry["dimensions"].values()) == len(names) and all(
        len(own) == len(names) for own in found.values()
    )
    rows = np.array([found[f"q{q}"] for q in (5, 25, 50, 75, 95)])
    assert (np.diff(rows, axis=0) > 0).all()
    assert (np.array(found["mcse_mean"]) < 0.02 * np.array(found["sd"])).all()
    program = (HERE / "models" / "stan" / f"{entry['model_name']}.stan").read_text("utf-8")
    for parameter in entry["dimensions"]:
        assert re.search(rf"\b{parameter}(;| = )", program), parameter


def test_a_check_that_fails_is_seen():
    info = read(FOLDER / "info", f"{NAMES[0]}.info")["diagnostics"]
    info["r_hat"][0] = 1.02
    info["mean_lag1_ac"][1] = -0.06
    failed = {name for name, passed in checks(info).items() if not passed}
    assert failed == {"r_hat_below_1_01", "abs_mean_lag1_ac_below_0_05"}


@pytest.mark.parametrize(("prior", "right"), [(1.0, True), (1.2, False)])
def test_dirichlet_posteriors_are_those_of_the_textbook(prior, right):
    data, found = read_data("patients"), read(FOLDER / "summary", "patients-dirichlet")
    counts = np.zeros((data["I"], data["K"]))
    np.add.at(counts, (np.array(data["item"]) - 1, np.array(data["label"]) - 1), 1)
    alpha = counts + prior
    mean = alpha / alpha.sum(axis=1, keepdims=True)
    z = (np.array(found["mean"]) - mean.ravel()) / np.array(found["mcse_mean"])
    assert (np.abs(z).max() < 5) == right


def test_densities_that_were_compared_agree():
    differences = json.loads((HERE / "densities.json").read_text("utf-8"))["differences"]
    assert set(differences) == set(NAMES)
    for name, own in differences.items():
        assert own["points"] >= 5 and own["largest_difference"] < 1e-6, name
