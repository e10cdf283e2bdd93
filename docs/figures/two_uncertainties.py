"""Top-3 accuracy of two classifiers, with the uncertainty of the truth, of the items, and of both."""

from pathlib import Path

import pandas as pd
from raterzoo import evaluation, inference, models

EXAMPLES = Path(__file__).parents[2] / "examples"
rankings = models.PartialRankings.from_table(pd.read_csv(EXAMPLES / "diagnoses.csv"))
predictions = evaluation.predictions_from_table(
    pd.read_csv(EXAMPLES / "diagnoses-predicted.csv"), rank="rank", classifier="classifier"
)
tree = inference.sample(models.plackett_luce(rankings, reliability=3), random_seed=1, progressbar=False)
found = evaluation.metric_intervals(evaluation.top_k_accuracy(3), tree, predictions)
figure = evaluation.plots.metric_intervals(found)
