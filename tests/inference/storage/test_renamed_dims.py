"""An unfinished store whose answers have the dim of version 0.1 is read, and not gone on with."""

import json

import pytest
import zarr
from raterzoo import inference

from tests.support.resumable_runs import BUILD
from tests.support.stores import DrawStore, read_draws


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_store_of_the_version_before_is_read_and_refused(tmp_path, golden):
    path = tmp_path / "draws.zarr"
    tree = inference.sample(BUILD["dawid_skene"](), draws=20, random_seed=1, progressbar=False, store=path)
    root = zarr.open_group(path, mode="r+")
    root.attrs["draws_written"] = 10
    for group in root.group_values():
        for array in group.array_values():
            names = ["label" if n == "answer" else n for n in array.metadata.dimension_names or ()]
            if names:
                rename_dims(path / array.path, names)
    read = read_draws(path)
    assert read["posterior"].sizes["draw"] == 10
    assert read["posterior"]["confusion"].dims == tree["posterior"]["confusion"].dims
    with golden.raises(ValueError):
        DrawStore.open(path)


def rename_dims(folder, names):
    """Write other names of the dims of an array into its metadata."""
    file = folder / "zarr.json"
    meta = json.loads(file.read_text())
    meta["dimension_names"] = names
    file.write_text(json.dumps(meta))
