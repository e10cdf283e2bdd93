"""The dermatology data, where they are."""

import os
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from raterzoo import models


@cache
def dermatology():
    """Return the rankings and the risk of every condition, or skip where the data are not."""
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        pytest.skip("RATERZOO_DATA does not name the folder of the data")
    conditions = pd.read_csv(Path(folder) / "dermatology_conditions.csv")
    conditions = conditions.rename(
        columns={"category": "name", "value": "risk"}
    )  # as `raterzoo data fetch` writes them
    frame = pd.read_csv(Path(folder) / "dermatology_ddx_long.csv")
    frame["category"] = conditions["name"].to_numpy()[frame["condition"]]
    frame["rank"] = frame["block"] + 1
    rankings = models.PartialRankings.from_table(
        frame, item="case", rater="reader", categories=conditions["name"].tolist()
    )
    return rankings, dict(zip(conditions["name"], conditions["risk"].astype(str), strict=True))
