"""The public dermatology annotations: their counts, both of their forms, and the time it takes."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from raterzoo.models import PartialRankings, simulators
from raterzoo.models.data import read_table

DATA = os.environ.get("RATERZOO_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="RATERZOO_DATA names no folder of data")
COLUMNS = {"item": "case", "rater": "reader", "category": "condition"}


@pytest.fixture(scope="module")
def frame():
    frame = pd.read_csv(Path(DATA, "dermatology_ddx_long.csv"))
    return frame.assign(rank=frame["block"] + 1)


@pytest.fixture(scope="module")
def rankings(frame):
    return PartialRankings.from_table(frame, **COLUMNS, categories=range(419))


def test_counts_are_the_published_ones(rankings):
    assert len(rankings.items) == 1947
    assert len(rankings) == 9602
    assert len(rankings.categories) == 419
    assert len(np.unique(rankings.category_code)) == 274
    assert np.diff(rankings.block_start).max() == 6
    assert rankings.gaps == 0
    per_item = np.bincount(rankings.annotation_item)
    assert (per_item.min(), per_item.max()) == (1, 10)


def test_original_blocks_are_the_same_rankings(rankings):
    nested = json.loads(Path(DATA, "raw", "dermatology_selectors.json").read_text())
    assert PartialRankings.from_blocks(nested, categories=range(419)) == rankings


def test_round_trip(rankings):
    again = PartialRankings.from_table(rankings.to_table(), categories=rankings.categories)
    assert again == rankings


def test_reader_gives_the_same_with_text_ids(rankings, tmp_path):
    source = Path(DATA, "dermatology_ddx_long.csv")
    text = read_table(source, rename={"case": "item", "reader": "rater", "condition": "category"})
    text["rank"] = text["block"].astype(int) + 1
    read = PartialRankings.from_table(text)
    np.testing.assert_array_equal(read.items, rankings.items.astype(str))
    np.testing.assert_array_equal(read.annotation_start, rankings.annotation_start)


def test_blocks_counted_from_zero_are_refused_with_the_remedy(frame, golden):
    with golden.raises(ValueError):
        PartialRankings.from_table(frame, **COLUMNS, rank="block")


def test_simulated_diagnoses_resemble_the_real_ones(rankings):
    def features(data):
        table = data.to_table()
        pairs = {*zip(table["item"].tolist(), table["category"].tolist(), strict=True)}
        ranked = len(np.unique(table["category"]))
        tied = (np.diff(data.block_start) > 1).sum()
        return np.array([len(data), len(pairs), ranked, len(data.category_code), tied])

    simulated = features(simulators.differential_diagnoses(random_seed=1).data)
    # A design that looks alike, not a fit: a tenth is the resolution that it claims.
    np.testing.assert_array_less(np.abs(simulated / features(rankings) - 1), 0.1)
