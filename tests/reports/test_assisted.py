"""Raters who saw the predictions of a classifier: its accuracy, and who is better, is not told."""

import numpy as np
import pytest
import raterzoo
from raterzoo import evaluation, models


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_a_classifier_whose_errors_raters_repeat_is_not_judged():
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(150), 4)
    rater = np.concatenate([rng.choice(8, 4, replace=False) for _ in range(150)])
    truth = rng.integers(0, 3, 150)

    def told(true, right):
        return np.where(rng.random(len(true)) < right, true, (true + rng.integers(1, 3, len(true))) % 3)

    said = {"A": told(truth, 0.7), "B": told(truth, 0.85)}
    label = np.where(rng.random(600) < 0.5, said["A"][item], told(truth[item], 0.8))
    names, raters = np.array([*"abc"]), np.array([f"r{k}" for k in range(8)])
    labels = models.Labels.from_table({"item": item, "rater": raters[rater], "label": names[label]})
    rows = {"item": np.tile(np.arange(150), 2), "category": names[np.concatenate([*said.values()])]}
    rows |= {"classifier": np.repeat([*said], 150), "rank": np.ones(300, int)}
    predictions = evaluation.predictions_from_table(rows, rank="rank", classifier="classifier")
    analysis = raterzoo.analyse(labels, predictions=predictions, draws=100, chains=2, progressbar=False)
    found = analysis.facts.classifiers
    assert (found.shown, [*found.figures], found.better) == ("A", ["B"], None)
    (answer,) = (own for own in analysis.answers if "classifier" in own.question)
    assert "better than" not in str(answer) and 'assisted_by="A"' in str(answer)
    joint = labels.with_predictions(predictions)
    quick = {"draws": 100, "chains": 2, "progressbar": False}
    remedy = raterzoo.analyse(joint, model="shared_guess", assisted_by="A", **quick)  # as the answer says
    right = {name: float((own == truth).mean()) for name, own in said.items()}
    rows = remedy.raters.set_index("rater").loc[[*"AB"]]
    assert all(rows["right_low"][name] < right[name] < rows["right_high"][name] for name in "AB")
    assert not remedy.checks["fails"].any()

    def of_labels(own):
        return (own.items.set_index("item")["label"] == names[truth[labels.items]]).mean()

    assert of_labels(remedy) > of_labels(analysis)
