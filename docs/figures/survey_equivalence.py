"""How many raters each of two classifiers is worth, of the tickets in examples/answers.csv."""

from pathlib import Path

import pandas as pd
from raterzoo import evaluation, models

EXAMPLES = Path(__file__).parents[2] / "examples"
labels = models.Labels.from_table(pd.read_csv(EXAMPLES / "answers.csv"))
predictions = evaluation.predictions_from_table(
    pd.read_csv(EXAMPLES / "answers-predicted.csv"), score="score", classifier="classifier"
)
found = evaluation.survey_equivalence(labels, predictions, clip=0.02, probability=0.9, random_seed=1)
figure = evaluation.plots.power_curve(found).figure
