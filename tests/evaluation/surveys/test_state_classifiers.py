"""A classifier's score in the draws of item states: what nobody said has no part in it."""

import numpy as np
from raterzoo.evaluation.surveys.item_states import curves

from tests.support.survey_parts import classifier_scores


def test_label_that_nobody_gave_has_no_part_in_the_score_however_improbable_it_was_called():
    counts = np.tile([3, 0], (20, 1))
    states = curves.ItemStates(np.ones((4, 1)), np.tile([1.0, 0.0], (4, 1, 1)), np.zeros((4, 1)))
    by_label = curves.Score("cross_entropy").by_label(np.tile([1.0, 0.0], (1, 20, 1)))
    assert np.isneginf(by_label[..., 1]).all()
    found = classifier_scores(states, counts, by_label, np.random.default_rng(1))
    np.testing.assert_array_equal(found, 0)
