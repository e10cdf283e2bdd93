"""Peak memory of a process of its own: files and tables to estimates, and posteriors of which summaries are kept."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")

CHILD = """
import sys, tempfile, warnings
from pathlib import Path
import numpy as np, pandas as pd, raterzoo
from raterzoo import inference, models
from raterzoo.models import LabelShards, Labels, Scores
warnings.simplefilter("ignore")

def peak():  # in KB; ru_maxrss would be that of the process which started this one, if it is larger
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

QUIET = {"random_seed": 1, "progressbar": False, "cores": 1}

def answers(n):
    rng, items = np.random.default_rng(1), n // 10
    item, rater = np.repeat(np.arange(items), 10), rng.integers(0, 100, (items, 1)) + 7 * np.arange(10)
    label = (rng.random(items) < .4)[item] ^ (rng.random(n) < .2)
    return pd.DataFrame({"item": item, "rater": rater.ravel() % 100, "label": label.astype(np.int64)})

def frame(n, folder):
    answers(n)

def estimate(n, folder):
    inference.dawid_skene_em(Labels.from_table(answers(n)), random_seed=1)

def in_files(n, folder):
    files = folder / f"in{n}"
    files.mkdir()
    for first in range(0, n, 100_000):  # items of their own, in a file after the other
        own = answers(min(n, 100_000))
        own["item"] += first
        own.to_parquet(files / f"{first}.parquet")
    shards = LabelShards.from_parquet(files)
    inference.dawid_skene_em(shards, out=folder / f"out{n}", random_seed=1)

def scores(n, folder, keep="summary"):
    frame = answers(10 * n)
    frame["score"] = frame["label"] + np.random.default_rng(1).standard_normal(len(frame))
    data = Scores.from_table(frame.drop(columns="label"))
    inference.sample(models.hierarchical_scores(data), draws=500, tune=50, thin=1, keep=keep, **QUIET)

def raters_with_one_answer(n, folder):
    frame = answers(n)
    frame["rater"] = np.arange(n)
    raterzoo.analyse(frame, draws=200, progressbar=False)

def all_scores(n, folder):
    scores(n, folder, "all")

what, n = globals()[sys.argv[1]], int(sys.argv[2])
with tempfile.TemporaryDirectory() as own:
    what(1000, Path(own))  # imports and compiles
    before = peak()
    what(n, Path(own))
print(1024 * (peak() - before) / n)
"""


def growth(what, n):
    """Bytes by which the peak memory of a process grows, for each answer or item."""
    done = subprocess.run([sys.executable, "-c", CHILD, what, str(n)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.slow
def test_estimates_need_some_bytes_for_each_answer_and_files_none():
    """A table is coded, which takes 20 bytes an answer; of files a few are in memory at once, whatever their number."""
    with_frame = growth("estimate", 1_000_000)
    assert growth("in_files", 2_000_000) < 50 < with_frame
    assert 5 < with_frame - growth("frame", 1_000_000) < 30  # above the peak of building the frame


@pytest.mark.long
def test_summaries_need_a_fraction_of_all_draws():
    """The 2,000 draws of the location of each item alone take 8,000 bytes in single precision, 16,000 in double."""
    assert growth("scores", 20_000) < 16_000 < growth("all_scores", 20_000)


@pytest.mark.long
def test_raters_with_one_answer_each_take_no_memory_of_their_own():
    """800 draws of each one's matrix would be 12,800 bytes; 100,000 of them, of 4 GB, did not converge."""
    assert growth("raters_with_one_answer", 50_000) < 12_800
