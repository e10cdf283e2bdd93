"""The first fit on a machine, which compiles, draws the same bits as all later ones, which load what was kept."""

import os
import subprocess
import sys

import pytest
from raterzoo import models

OURS = [name for name, entry in models.catalog.items() if entry.methods[0] != "nuts"]
SCRIPT = """
import hashlib, sys, warnings
from raterzoo import inference, models
warnings.simplefilter("ignore")
simulate, name = models.simulators, sys.argv[1]
annotations = {
    "rankings": lambda: simulate.rankings(items=8, block_sizes=(1, 2), random_seed=1).data,
    "comparisons": lambda: simulate.comparisons(items=8, raters=4, degree=4, tie=1.0, random_seed=1).data,
    "scores": lambda: simulate.scores(items=8, raters=4, random_seed=1).data,
    "labels": lambda: simulate.labels(items=30, raters=5, categories=3, random_seed=1).data,
}
model = getattr(models, name)(annotations[models.catalog[name].data]())
tree = inference.sample(model, draws=50, chains=2, random_seed=1, progressbar=False)
digest = hashlib.sha256()
for group in ("posterior", "log_likelihood", "sample_stats"):
    for variable in sorted(tree[group].data_vars) if group in tree.children else []:
        digest.update(tree[group][variable].values.tobytes())
print(digest.hexdigest())
"""


def draws(name, caches):
    kept = {
        "NUMBA_CACHE_DIR": str(caches / "numba"),
        "PYTENSOR_FLAGS": f"base_compiledir={caches / 'pytensor'}",
    }
    command = [sys.executable, "-c", SCRIPT, name]
    done = subprocess.run(command, env=os.environ | kept, capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_cold_and_warm_caches_give_the_same_draws(name, tmp_path):
    assert draws(name, tmp_path) == draws(name, tmp_path)
