"""Labels in Parquet files: the estimates and draws of one table, whoever works; runs that were stopped go on to the same bits."""

import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo import inference
from raterzoo.inference.labels import em_search as search
from raterzoo.inference.labels.kernels import em as kernels_em
from raterzoo.inference.scale import label_files, sharded_em
from raterzoo.models import DataError, DataWarning, Labels, LabelShards

from tests.support.executors import InThisProcess, Stopped, Stops

EDGES = (0, 90, 91, 200, 300)  # items of the files


def table(items=300, each=4, categories=3, raters=10, text=False):
    """Answers in no order, with gold labels of some items, and repeated answers."""
    rng = np.random.default_rng(1)
    truth, item = rng.integers(0, categories, items), np.repeat(np.arange(items), each)
    guess = rng.integers(0, categories, len(item))
    label = np.where(rng.random(len(item)) < 0.6, truth[item], guess)
    gold = np.where(item % 50 == 0, truth[item].astype(str), "")
    rater = rng.integers(0, raters, len(item))
    columns = {"item": item, "rater": rater, "label": label.astype(str), "gold": gold}
    columns["n"] = np.where(item % 7 == 0, 2, 1)
    frame = pd.DataFrame(columns)
    if text:
        frame["item"], frame["rater"] = "i" + frame["item"].astype(str), "r" + frame["rater"].astype(str)
    frame = pd.concat([part.sample(frac=1, random_state=1) for _, part in frame.groupby(item // 30)])
    return frame.assign(file=np.searchsorted(EDGES, frame.index.map(lambda row: item[row]), side="right") - 1)


@pytest.fixture
def files(tmp_path):
    return written(tmp_path, table())


def written(folder, frame):
    """Write the files; return them and their table, in the order of the files."""
    frame = frame.sort_values("file", kind="stable")
    for number, part in frame.groupby("file"):
        part.drop(columns="file").to_parquet(folder / f"part-{number}.parquet", index=False)
    return folder, frame


OPTIONS = {"gold": "gold", "count": "n"}


def em(labels, **options):
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return inference.dawid_skene_em(labels, **({"random_seed": 3} | options))


def assert_close(one, other):
    assert {*one.variables} == {*other.variables}
    for name, values in one.variables.items():
        there = other.variables[name]
        assert (values.dims, values.dtype, values.shape) == (there.dims, there.dtype, there.shape), name
        if values.dtype.kind == "f":
            np.testing.assert_allclose(there, values, rtol=1e-12, atol=1e-12, err_msg=name)
        else:
            assert (there == values).all(), name


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("prior", ["diagonal", "population", None])
def test_em_is_that_of_one_table(tmp_path, text, prior):
    folder, frame = written(tmp_path, table(text=text))
    whole = em(Labels.from_table(frame, **OPTIONS), prior=prior)
    assert_close(
        whole, em(LabelShards.from_parquet(folder, **OPTIONS), prior=prior, executor=InThisProcess())
    )


def test_sample_of_the_items_is_that_of_one_table(files, monkeypatch):
    folder, frame = files
    for name, value in {"LARGE": 100, "SAMPLE": 200, "SAMPLE_OF_RATER": 1}.items():
        monkeypatch.setattr(search, name, value)
    whole = em(Labels.from_table(frame, **OPTIONS))
    assert_close(whole, em(LabelShards.from_parquet(folder, **OPTIONS)))
    assert int(whole["optimum_found"].sum()) > 1


def test_a_sample_has_the_size_that_is_asked_for(files, monkeypatch):
    folder, frame = files
    for name, value in {"LARGE": 100, "SAMPLE": 200, "SAMPLE_OF_RATER": 1}.items():
        monkeypatch.setattr(search, name, value)
    labels, sizes = Labels.from_table(frame, **OPTIONS), []
    few = search._sampled_patterns(labels, np.random.default_rng(1))
    sizes.append(int((np.diff(few.answers.start) * few.multiplicity).sum()))
    draw = label_files.SharedLabels.sample

    def noted(*own):
        sizes.append(len((found := draw(*own)).code))
        return found

    monkeypatch.setattr(label_files.SharedLabels, "sample", noted)
    em(LabelShards.from_parquet(folder, **OPTIONS))
    assert len(labels) > 600 and len(sizes) > 1
    assert all(120 < size < 280 for size in sizes), sizes


def test_a_wrong_number_of_a_rater_is_noticed(files, monkeypatch):
    """The wrong twin of the tests above: raters keep the numbers that they have in their files."""
    folder, frame = files
    own = label_files.united

    def mixed(parts):
        raters, places = own(parts)
        return raters, [np.arange(len(place)) for place in places]

    monkeypatch.setattr(label_files, "united", mixed)
    there = em(LabelShards.from_parquet(folder, **OPTIONS))
    assert abs(there["confusion"] - em(Labels.from_table(frame, **OPTIONS))["confusion"]).max() > 1e-3


def test_bits_do_not_depend_on_who_works(files):
    shards = LabelShards.from_parquet(files[0], **OPTIONS)
    first = em(shards, restarts=1)
    for executor in (InThisProcess(), ThreadPoolExecutor(3)):
        xr.testing.assert_identical(first, em(shards, restarts=1, executor=executor))


def test_plausibilities_in_files_are_those_of_the_estimate(files, tmp_path):
    shards = LabelShards.from_parquet(files[0], **OPTIONS)
    held, out = em(shards), tmp_path / "out"
    left = em(shards, out=out)
    per_item = {"plausibility", "optimum_plausibility", "item"}
    xr.testing.assert_identical(left, held.drop_vars(per_item))
    parts = [pd.read_parquet(out / "plausibility" / path.name) for path in shards.files]
    found = pd.concat(parts)
    assert found["item"].tolist() == held["item"].values.tolist()
    assert (found.filter(like="plausibility_").to_numpy() == held["plausibility"].to_numpy()).all()
    assert (found["label"] == held["category"].to_numpy()[held["plausibility"].argmax("category")]).all()
    assert {path.name for path in out.iterdir()} == {"call.json", "estimate.npz", "plausibility"}


def test_a_folder_keeps_every_start_apart(files, tmp_path):
    """After two iterations no two of the four starts have come to the same optimum."""
    shards, run = LabelShards.from_parquet(files[0], **OPTIONS), partial(em, restarts=3, max_iterations=2)
    held = run(shards)
    assert held.sizes["optimum"] == 4
    left = run(shards, out=tmp_path / "out")
    xr.testing.assert_identical(left, held.drop_vars({"plausibility", "optimum_plausibility", "item"}))


def states(folder):
    return {path.name for path in folder.glob("run-*.npz")}


@pytest.mark.parametrize("most", [6, 30, 100])
def test_a_stopped_estimate_goes_on(files, tmp_path, most):
    """Stopped while files are read, between iterations, or while plausibilities are written."""
    shards, run = LabelShards.from_parquet(files[0], **OPTIONS), partial(em, restarts=1)
    whole, out = run(shards, out=tmp_path / "whole", executor=InThisProcess()), tmp_path / "out"
    with pytest.raises(Stopped):
        run(shards, out=out, executor=Stops(most))
    rest = InThisProcess()
    xr.testing.assert_identical(whole, run(shards, out=out, executor=rest, random_seed=None))
    for path in shards.files:
        assert (out / "plausibility" / path.name).read_bytes() == (
            tmp_path / "whole" / "plausibility" / path.name
        ).read_bytes()
    again = InThisProcess()
    xr.testing.assert_identical(whole, run(shards, out=out, executor=again))
    assert again.done == 0


def test_iterations_that_were_kept_are_not_repeated(files, tmp_path, monkeypatch):
    monkeypatch.setattr(sharded_em, "KEPT_EVERY", 1)
    shards, whole, rest = LabelShards.from_parquet(files[0], **OPTIONS), InThisProcess(), InThisProcess()
    em(shards, restarts=0, out=tmp_path / "whole", executor=whole)
    with pytest.raises(Stopped):
        em(shards, restarts=0, out=tmp_path / "out", executor=Stops(60))
    em(shards, restarts=0, out=tmp_path / "out", executor=rest)
    assert rest.done < whole.done - 60 + 4 * 5 + 8  # at most an iteration, and the files found as they were


def test_a_folder_of_another_call_is_refused(files, tmp_path, golden):
    shards, out = LabelShards.from_parquet(files[0], **OPTIONS), tmp_path / "out"
    em(shards, restarts=0, out=out)
    with golden.raises(ValueError):
        em(shards, restarts=2, out=out)
    with pytest.raises(ValueError, match="begun with labels="):
        em(LabelShards.from_parquet(files[0], gold="gold"), restarts=0, out=out)
    with golden.raises(ValueError):
        em(shards, out=files[0])


def test_a_large_result_needs_a_folder(files, monkeypatch, golden):
    monkeypatch.setattr(sharded_em, "MOST_NUMBERS", 300)
    with golden.raises(ValueError):
        em(LabelShards.from_parquet(files[0], **OPTIONS))


@pytest.mark.parametrize("options", [{"shards": 2}, {"features": {"item": [1], "x": [1.0]}}])
def test_what_files_cannot_have_is_refused(files, options, golden):
    with golden.raises(ValueError):
        em(LabelShards.from_parquet(files[0]), **options)


def test_out_is_for_files(files, tmp_path, golden):
    with golden.raises(ValueError):
        em(Labels.from_table(files[1]), out=tmp_path / "out")


# --- Gibbs ---


def gibbs(labels, store, **options):
    given = {"draws": 20, "chains": 2, "tune": 5, "progressbar": False, "random_seed": 4}
    return inference.dawid_skene_gibbs(labels, store=store, **(given | options))


def test_gibbs_has_the_bits_of_one_table(files, tmp_path):
    folder, frame = files
    own = frame.assign(n=np.where(frame["item"] % 30 == 0, 0, frame["n"]))  # items without an answer
    folder, frame = written(folder, own)
    whole = gibbs(Labels.from_table(frame, **OPTIONS), tmp_path / "0.zarr", executor=InThisProcess())
    shards = LabelShards.from_parquet(folder, **OPTIONS)
    for number, executor in enumerate((InThisProcess(), None), 1):
        tree = gibbs(shards, tmp_path / f"{number}.zarr", executor=executor)
        for group in ("posterior", "log_likelihood", "log_prior", "sample_stats"):
            xr.testing.assert_identical(whole[group].to_dataset().load(), tree[group].to_dataset().load())
        assert whole["constant_data"]["gold"].identical(tree["constant_data"]["gold"])
    assert whole["log_likelihood"].sizes["item"] < 300


def test_a_stopped_chain_goes_on(files, tmp_path, monkeypatch):
    monkeypatch.setattr("raterzoo.inference.scale.sharded_gibbs.BUFFER", 20_000)
    shards = LabelShards.from_parquet(files[0], **OPTIONS)
    whole = gibbs(shards, tmp_path / "0.zarr", executor=InThisProcess())
    with pytest.raises(Stopped):
        gibbs(shards, tmp_path / "1.zarr", executor=Stops(170))
    rest = InThisProcess()
    tree = gibbs(shards, tmp_path / "1.zarr", executor=rest)
    for name, node in whole.children.items():
        xr.testing.assert_identical(node.to_dataset().load(), tree[name].to_dataset().load())
    assert rest.done < 3 * 4 + 2 * 4 * (20 - 5)  # files are read again; tuning and the first draws are kept


# --- Files that are wrong ---


def rewritten(folder, number, change):
    path = folder / f"part-{number}.parquet"
    change(pd.read_parquet(path)).to_parquet(path, index=False)


def test_an_item_in_two_files_is_refused(files, monkeypatch, golden):
    monkeypatch.setattr(label_files, "ITEMS_OF_A_PART", 20)
    rewritten(files[0], 3, lambda own: own.assign(item=own["item"].replace(250, 17)))
    with golden.raises(DataError):
        em(LabelShards.from_parquet(files[0]))


def test_items_of_files_may_alternate(tmp_path, monkeypatch):
    """Files whose ranges of ids overlap: no item is in two."""
    monkeypatch.setattr(label_files, "ITEMS_OF_A_PART", 20)
    frame = table()
    folder, frame = written(tmp_path, frame.assign(file=frame["item"] % 3))
    assert_close(em(Labels.from_table(frame)), em(LabelShards.from_parquet(folder)))


@pytest.mark.parametrize(
    "change",
    [
        lambda own: own.assign(rater=own["rater"].astype("Int64").where(own.index != 4)),
        lambda own: own.assign(label=own["label"].where(own.index != 4, "")),
        lambda own: own.assign(n=-1),
        lambda own: own.assign(gold="unheard"),
    ],
)  # fmt: skip
def test_a_wrong_cell_is_named_by_its_file(files, change, golden):
    rewritten(files[0], 2, change)
    with golden.raises(DataError):
        em(LabelShards.from_parquet(files[0], **OPTIONS), executor=InThisProcess())


def test_rows_with_an_empty_cell_are_left_out(files, golden):
    def change(own):
        return own.assign(label=own["label"].where(own.index != 4))

    rewritten(files[0], 2, change)
    frame = pd.concat([pd.read_parquet(files[0] / f"part-{number}.parquet") for number in range(4)])
    shards = LabelShards.from_parquet(files[0], missing="drop")
    with golden.warns(UserWarning):
        there = em(shards, restarts=0, executor=InThisProcess())
    assert_close(em(Labels.from_table(frame.dropna()), restarts=0), there)


# --- Killed ---

DRIVER = """
import sys, time, warnings
from raterzoo import inference, models
from raterzoo.inference.scale import sharded_em
warnings.simplefilter("ignore")
plain = sharded_em.InShards.e_step

def slow(self, *parameters):
    time.sleep(.03)
    return plain(self, *parameters)

if __name__ == "__main__":
    sharded_em.InShards.e_step = slow
    shards = models.LabelShards.from_parquet(sys.argv[1])
    inference.dawid_skene_em(shards, restarts=3, random_seed=3, out=sys.argv[2], executor=int(sys.argv[3]) or None)
"""


@pytest.mark.slow
@pytest.mark.parametrize("executor", [0, 2])
def test_a_killed_driver_goes_on_to_the_same_bits(files, tmp_path, executor):
    shards, out = LabelShards.from_parquet(files[0]), tmp_path / "out"
    whole = em(shards, restarts=3, out=tmp_path / "whole")
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    kills = 0
    for wanted in ("call.json", "run-0.npz", "run-2.npz"):
        driver = subprocess.Popen([sys.executable, str(script), str(files[0]), str(out), str(executor)])
        until = time.monotonic() + 600
        while not (out / wanted).exists() and driver.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        if driver.poll() is None:
            os.kill(driver.pid, signal.SIGKILL)
            kills += 1
        driver.wait()
    assert kills == 3 and states(out) >= {"run-0.npz", "run-2.npz"}
    xr.testing.assert_identical(whole, em(shards, restarts=3, out=out))


@pytest.mark.long
def test_workers_of_dask_by_the_same_call(files, tmp_path):
    from distributed import Client, LocalCluster

    shards = LabelShards.from_parquet(files[0], **OPTIONS)
    first, drawn = em(shards, restarts=2), gibbs(shards, tmp_path / "0.zarr", executor=InThisProcess())
    own = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**own, silence_logs=50) as cluster, Client(cluster) as client:
        xr.testing.assert_identical(first, em(shards, restarts=2, executor=client))
        em(shards, restarts=2, executor=client, out=tmp_path / "out")
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        tree = gibbs(shards, tmp_path / "1.zarr", executor=client)
        xr.testing.assert_identical(
            drawn["posterior"].to_dataset().load(), tree["posterior"].to_dataset().load()
        )
    assert len([*(tmp_path / "out" / "plausibility").iterdir()]) == 4


def test_optima_differ_by_their_plausibilities():
    patterns = kernels_em.answer_patterns(
        kernels_em.coded_answers(*np.array([[0, 1], [0, 0], [0, 1]]), np.full(2, -1), 2)
    )
    even, table = np.array([0.5, 0.5]), np.array([[0.9, 0.3], [0.1, 0.7]])  # (rater * label, category)
    shard = SimpleNamespace(open=lambda: patterns)
    assert sharded_em.largest_difference(shard, (even, table), (even, table)) == 0
    # p(first category) is .9 / 1.2 and .1 / .8 given each answer; by the matrix with both columns alike it is .5
    found = sharded_em.largest_difference(shard, (even, table), (even, np.full((2, 2), 0.5)))
    assert found == pytest.approx(0.5 - 0.1 / 0.8)


def test_answers_that_are_no_truth_are_left_out(tmp_path):
    """One of the files has none of them; that file does not warn."""
    frame = table()
    none = (frame["item"] % 3 == 0) & (frame["rater"] == 1) & (frame["file"] > 0)
    frame.loc[none, "label"] = "Unsure"
    folder, frame = written(tmp_path, frame)
    unsure = frame["label"] == "Unsure"
    with pytest.warns(DataWarning) as warned:
        shards = LabelShards.from_parquet(folder, **OPTIONS, no_answer="unsure")
        found = em(shards, executor=InThisProcess())
    assert len(warned) == frame[unsure]["file"].nunique()
    assert found["category"].to_numpy().tolist() == ["0", "1", "2"]
    with pytest.warns(DataWarning):
        whole = Labels.from_table(frame, **OPTIONS, no_answer="unsure")
    assert len(whole.unanswered["item"]) == unsure.sum() > 0
    assert_close(em(whole), found)
