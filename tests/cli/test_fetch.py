"""Public data sets from a server: hashes and git blob ids, what is kept, faults of the network, and who can read the tables.

The server is one of this machine. The predictions of the classifiers are stand-ins with ids of their own.
"""

import copy
import hashlib
import os
import subprocess
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
            content = files.get(self.path.rsplit("/", 1)[-1])
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


@pytest.fixture
def stand_ins(served, monkeypatch, tmp_path):
    """Serve the copies of the dermatology data, and predictions for their cases, of which the ids are pinned."""
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        pytest.skip("RATERZOO_DATA does not name the folder of the data")
    files, asked = served
    for name in NAMES:
        files[f"dermatology_{name}"] = (Path(folder) / "raw" / f"dermatology_{name}").read_bytes()
    rng, sets = np.random.default_rng(1), copy.deepcopy(data_sets._datasets())
    for k in range(4):
        rows = rng.dirichlet(np.full(419, 0.05), 1947)
        content = "".join(" ".join(f"{x:.3e}" for x in row) + "\n" for row in rows).encode()
        files[f"dermatology_predictions{k}.txt"] = content
        pinned = sets["dermatology"]["files"]
        assert len(pinned[f"data/dermatology_predictions{k}.txt"]) == 40
        pinned[f"data/dermatology_predictions{k}.txt"] = blob_id(content, tmp_path)
    monkeypatch.setattr(data_sets, "_datasets", lambda: sets)
    return files, asked


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


def test_votes_on_language_models_are_the_files_of_their_authors(served, tmp_path):
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        pytest.skip("RATERZOO_DATA does not name the folder of the data")
    files, _ = served
    for name in ("crowd", "gpt3", "gpt4"):
        theirs = "crowd-comparisons.csv" if name == "crowd" else f"{name}-crowd-comparisons.csv"
        files[theirs] = (Path(folder) / f"llmfao_{name}_comparisons.csv").read_bytes()
    result = fetch("llmfao", tmp_path)
    assert result.exit_code == 0, result.output
    for path in tmp_path.glob("*.csv"):
        assert path.read_bytes() == (Path(folder) / path.name).read_bytes()
    assert len(list(tmp_path.glob("llmfao_*.csv"))) == 3
