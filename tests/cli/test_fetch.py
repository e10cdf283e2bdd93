"""Public data sets from a server: hashes and git blob ids, what is kept, faults of the network, and who can read the tables.

The server is one of this machine. It has our copies, turned back into the files of their authors; those of which we have but
some columns (predictions of dermatology's classifiers, CredBank, PandaLM) are stand-ins with hashes of their own.
"""

import copy
import csv
import hashlib
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from raterzoo.cli import data_sets
from typer.testing import CliRunner

from tests.support.cli_parts import app
from tests.support.dermatology import dermatology

NAMES = ["selectors.json", "conditions.txt", "risks.txt"]


def fetch(name, out):
    return CliRunner().invoke(app, ["data", "fetch", name, "--out", str(out)])


def blob_id(content, folder):
    """Id of a content, by git."""
    (folder / "blob").write_bytes(content)
    done = subprocess.run(
        ["git", "hash-object", "--no-filters", "blob"], cwd=folder, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


@pytest.fixture
def served(monkeypatch, tmp_path):
    """Return contents by path that a server of this machine has, and an empty cache; a list is what is asked for."""
    files, asked = {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = next((files[name] for name in files if self.path.endswith(name)), None)
            if content is None:
                self.send_error(404)
                return
            whole, sent = content if isinstance(content, tuple) else (len(content), content)
            self.send_response(200)
            self.send_header("Content-Length", str(whole))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{server.server_port}/"
    monkeypatch.setattr(data_sets, "RAW_FILE", at + "{repository}/{commit}/{path}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield files, asked
    server.shutdown()
    server.server_close()


def our_copies():
    """Return the folder of our copies, or skip."""
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        pytest.skip("RATERZOO_DATA does not name the folder of the data")
    return Path(folder)


def own_rows(name):
    with (our_copies() / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def lines(header, rows):
    return "".join(f"{line}\n" for line in [header, *rows]).encode()


def truth_values(rows, key, first, indent, together):
    """Flow mappings of YAML, as their authors' files have them."""
    said = [f"{row['item']}: {str(row[key] == '1').lower()}" for row in sorted(rows, key=lambda r: int(r["item"]))]  # fmt: skip
    text, line = "", first
    for k, one in enumerate(said):
        line += one + ("}" if k + 1 == len(said) else ",")
        full = (k + 1) % together == 0 if together else len(line) > 80
        if k + 1 == len(said) or full:
            text, line = text + line + "\n", indent
        else:
            line += " "
    return text


def bluebird_files():
    by_rater = {}
    for row in own_rows("bluebird_answers"):
        by_rater.setdefault(int(row["rater"]), []).append(row)
    answers = (truth_values(by_rater[r], "label", f"{r}: {{", "  ", 0) for r in sorted(by_rater))
    truth = truth_values(own_rows("bluebird_truth"), "truth", "{", "    ", 6)
    return {"gt.yaml": truth.encode(), "labels.yaml": "".join(answers).encode()}


def pandalm_files():
    rows = own_rows("pandalm_testset_labels")
    people = [{key: one[key] for key in one if key not in ("gpt35", "pandalm7b")} | {"input": "..."} for one in rows]  # fmt: skip
    return {
        "/testset-v1.json": json.dumps([one | {"response1": float("nan")} for one in people]).encode(),
        "gpt-3.5-turbo-testset-v1.json": json.dumps([{"idx": r["idx"], "gpt_result": r["gpt35"]} for r in rows]).encode(),
        "pandalm-7b-testset-v1.json": json.dumps([{"idx": r["idx"], "pandalm_result": r["pandalm7b"]} for r in rows]).encode(),
    }  # fmt: skip


def survey_equivalence_files():
    example, label = own_rows("running_example"), ("neg", "pos")
    raters = [f"e_{k}" for k in range(1, 11)]

    def soft(p):
        return f'"Prediction: [{float(p)}, {round(1 - float(p), 4)}]"'

    names = "mock hard classifier,calibrated hard classifier,h_infinity: ideal classifier"
    levels = ["c_m2", "c_m1", "c_0", "c_p1", "c_p2"]
    comments, stored = own_rows("toxicity_full"), own_rows("toxicity2000")
    return {
        "running_example/ref_rater_labels.csv": lines(
            ",".join(["", *raters]), (",".join([r["item"], *(label[int(r[k])] for k in raters)]) for r in example)
        ),
        "running_example/predictions.csv": lines(
            f",{names}",
            (f"{r['item']},Prediction: {label[int(r['hard'])]},{soft(r['soft_pos'])},{soft(r['ideal_pos'])}" for r in example),
        ),
        "credweb.csv": lines(
            ",".join(["event", *(f"credCount{k}_ret" for k in range(-2, 3)), "P_ca_ret", "cscw_predictor"]),
            (",".join([f"e{r['item']}", *(r[k] for k in levels), r["calibrated_p"], r["predictor_class"]])
             for r in own_rows("credweb")),
        ),
        "wiki_attack_labels_and_predictor.csv": lines(
            "rev_id,perc_labelled_attack,n_labelled_attack,n_labels,predictor_prob",
            (f"{r['rev_id']},{round(int(r['n_labelled_attack']) / int(r['n_labels']), 9):.9g},"
             f"{r['n_labelled_attack']},{r['n_labels']},{r['predictor_prob']}" for r in comments),
        ),
        "CrossEntropyScore/predictions.csv": lines(
            ",raw,calibrated",
            (f'{k},"Prediction: [{r["predictor_prob"]}, 0.5]","Prediction: [{r["calibrated_prob"]}, 0.5]"'
             for k, r in enumerate(stored)),
        ),
    }  # fmt: skip


def llmfao_files():
    names = {
        "/crowd-comparisons.csv": "crowd_comparisons",
        "gpt3-crowd-comparisons.csv": "gpt3_comparisons",
        "gpt4-crowd-comparisons.csv": "gpt4_comparisons",
        "llmfao-golden.csv": "golden_scores_evalica",
    }
    return {theirs: (our_copies() / f"llmfao_{ours}.csv").read_bytes() for theirs, ours in names.items()}


def dermatology_files():
    folder = our_copies() / "raw"
    found = {f"dermatology_{name}": (folder / f"dermatology_{name}").read_bytes() for name in NAMES}
    rng = np.random.default_rng(1)
    for k in range(4):
        rows = [
            " ".join(f"{x:.3e}" for x in row) for row in rng.dirichlet(np.full(419, 0.05), 59)
        ]  # 59 x 33 cases
        found[f"dermatology_predictions{k}.txt"] = ("\n".join(rows * 33) + "\n").encode()
    return found


FILES = {
    "bluebird": bluebird_files,
    "dermatology": dermatology_files,
    "llmfao": llmfao_files,
    "pandalm": pandalm_files,
    "survey_equivalence": survey_equivalence_files,
}
STAND_INS = {"credweb.csv", "testset-v1.json", *(f"dermatology_predictions{k}.txt" for k in range(4))}


@pytest.fixture
def published(served, monkeypatch, tmp_path):
    """Return a function that serves the files of a data set, with hashes of their own for stand-ins, and what was asked for."""
    files, asked = served
    sets = copy.deepcopy(data_sets._datasets())
    monkeypatch.setattr(data_sets, "_datasets", lambda: sets)

    def serve(name):
        made = FILES[name]()
        files.update(made)
        pinned = sets[name]["files"]
        for path in pinned:
            content = next(made[own] for own in made if f"/{path}".endswith(own))
            if Path(path).name in STAND_INS:
                blob = len(pinned[path]) == 40
                pinned[path] = blob_id(content, tmp_path) if blob else hashlib.sha256(content).hexdigest()
        return files, asked

    return serve


@pytest.fixture
def stand_ins(published):
    """Serve the copies of the dermatology data, and predictions for their cases, of which the ids are pinned."""
    return published("dermatology")


def test_no_network_names_the_file_to_put_in_place(served, tmp_path):
    result = fetch("dermatology", tmp_path / "out")
    assert result.exit_code == 2
    assert "by hand" in result.output and "dermatology_selectors.json" in result.output
    assert not (tmp_path / "out").exists() and not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "content", [b"[[[[0]]]]", (125_778, b"[[[[0]]]]")], ids=["other bytes", "half a file"]
)
def test_only_files_with_the_pinned_hash_are_taken_and_kept(served, tmp_path, content):
    served[0]["dermatology_selectors.json"] = content
    result = fetch("dermatology", tmp_path / "out")
    assert result.exit_code == 2 and "dermatology_selectors.json" in result.output
    whole = isinstance(content, bytes)
    assert (hashlib.sha256(b"[[[[0]]]]").hexdigest() in result.output) == whole
    assert ("IncompleteRead" in result.output) != whole
    assert not (tmp_path / "out").exists() and not (tmp_path / "cache").exists()


def test_predictions_are_checked_by_their_git_blob_id(stand_ins, tmp_path):
    files, _ = stand_ins
    files["dermatology_predictions2.txt"] = files["dermatology_predictions3.txt"]
    result = fetch("dermatology", tmp_path / "out")
    assert result.exit_code == 2 and "git blob id" in result.output
    assert blob_id(files["dermatology_predictions3.txt"], tmp_path) in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_fetched_tables_are_what_notebooks_and_commands_read(stand_ins, tmp_path, monkeypatch):
    files, asked = stand_ins
    given = {k: files[f"dermatology_predictions{k}.txt"] for k in range(4)}
    expected, risk = dermatology()
    written = {}
    for name in ("from the network", "from the cache"):
        result = fetch("dermatology", tmp_path / name)
        assert result.exit_code == 0 and result.output.count("wrote ") == 4, result.output
        written[name] = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        files.clear()
    assert len(asked) == 7 and written["from the network"] == written["from the cache"]

    monkeypatch.setenv("RATERZOO_DATA", str(tmp_path / name))
    dermatology.cache_clear()
    try:
        assert dermatology() == (expected, risk)
    finally:
        dermatology.cache_clear()
    wide = pd.read_csv(tmp_path / name / "dermatology_predictions.csv")
    assert wide["classifier"].unique().tolist() == list("ABCD") and wide.shape == (4 * 1947, 2 + 419)
    assert wide.columns[2:].tolist() == list(risk)
    for k, letter in enumerate("ABCD"):
        own = wide[wide["classifier"] == letter]
        assert own["item"].tolist() == list(range(1947))
        np.testing.assert_allclose(own.iloc[:, 2:], np.loadtxt(given[k].decode().splitlines()), rtol=1e-14)


TABLES = {
    "anesthesia": ["anesthesia"],
    "bluebird": ["bluebird_answers", "bluebird_truth"],
    "llmfao": sorted(f"llmfao_{name}" for name in (
        "crowd_comparisons", "gpt3_comparisons", "gpt4_comparisons", "golden_scores_evalica"
    )),
    "pandalm": ["pandalm_testset_labels"],
    "survey_equivalence": ["credweb", "running_example", "toxicity2000", "toxicity_full"],
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_fetched_tables_are_our_copies(published, tmp_path, name):
    if name in FILES:
        files, asked = published(name)
    result = fetch(name, tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert sorted(path.stem for path in (tmp_path / "out").iterdir()) == TABLES[name]
    for table in TABLES[name]:
        own = pd.read_csv(our_copies() / f"{table}.csv")
        found = pd.read_csv(tmp_path / "out" / f"{table}.csv")
        keys = [column for column in ("item", "rater", "rating") if column in own]
        if name in ("anesthesia", "bluebird"):  # in another order
            own, found = (frame.sort_values(keys, ignore_index=True) for frame in (own, found))
        pd.testing.assert_frame_equal(found, own, rtol=1e-14)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    if name in FILES:
        files.clear()
        asked.clear()
        again = fetch(name, tmp_path / "out")
        assert again.exit_code == 0 and again.output.count("is there already") == len(TABLES[name])
        assert not asked and before == {path: path.stat().st_mtime_ns for path in before}


def test_a_file_without_a_hash_is_known_by_its_table(published, tmp_path):
    files, _ = published("survey_equivalence")
    name = "CrossEntropyScore/predictions.csv"
    right = files[name]
    for wrong in (right.replace(b"0.02,", b"0.03,", 1), right[:1000], b"{", b"\xff"):
        files[name] = wrong
        result = fetch("survey_equivalence", tmp_path / "out")
        said = " ".join(result.output.split())
        assert result.exit_code == 2 and "none is used" in said, said
        assert name.split("/")[1] in said and "fetch again" in said
        assert not (tmp_path / "out").exists()
        assert not list((tmp_path / "cache").rglob(f"*{name}"))
    files[name] = right
    assert fetch("survey_equivalence", tmp_path / "out").exit_code == 0


@pytest.mark.parametrize("wrong", [b"[1]", b"{}", b"[null]", b'[{"idx": 0}]'])
def test_json_of_another_form_is_named(published, tmp_path, wrong):
    files, _ = published("pandalm")
    files["gpt-3.5-turbo-testset-v1.json"] = wrong
    result = fetch("pandalm", tmp_path / "out")
    assert result.exit_code == 2 and "gpt-3.5-turbo-testset-v1.json" in result.output, result.output
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "out").write_text("mine")
    result = fetch("anesthesia", tmp_path / "out")
    assert result.exit_code == 2 and "--out" in result.output
    assert (tmp_path / "out").read_text() == "mine"


def test_a_disk_that_is_full_leaves_no_half_a_file(published, tmp_path, monkeypatch):
    published("bluebird")
    assert fetch("bluebird", tmp_path / "out").exit_code == 0
    whole = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    target = tmp_path / "out" / "bluebird_truth.csv"
    target.write_bytes(whole[target][:100])
    write = Path.write_bytes

    def full(path, content):
        write(path, content[:50])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    result = fetch("bluebird", tmp_path / "out")
    assert result.exit_code == 2 and "No space left" in result.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in whole}
    assert target.read_bytes() == whole[target][:100]


@pytest.mark.long
def test_papers_run_on_fetched_tables_alone(published, tmp_path):
    for name in FILES:
        published(name)
        assert fetch(name, tmp_path / "data").exit_code == 0
    tests = [
        "tests/papers/test_survey_equivalence.py",
        "tests/papers/test_dermatology.py::test_share_of_uncertain_items",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-m", "slow or not slow", *tests],
        env=os.environ | {"RATERZOO_DATA": str(tmp_path / "data")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout and "skipped" not in done.stdout
