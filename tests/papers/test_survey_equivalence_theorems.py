"""Resnick, Kong, Schoenebeck and Weninger (2021): theorems on the power curve (section 4) and the determinant (section 6).

By sums over all sequences of labels of the urns, and within Monte-Carlo error on items drawn from them. Versions of the paper
(arXiv:2106.01254) differ, so that each test says what it shows.
"""

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import survey_equivalence

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of
from tests.support.survey_parts import survey_power_curve
from tests.support.survey_urns import asymptote, binary_counts, drawn_states, mutual_information, urn_curve


class TestUrns:
    """The model that the running example was drawn from."""

    def test_numbers_of_the_model(self):
        # sections 3 and 4: c_0 = -.951, asymptotic gain .252, gain of nine raters .223 on the data
        curve = urn_curve("abc", "cross_entropy", 9, clip=0)
        assert curve[0] == pytest.approx(-0.9507, abs=5e-5)
        assert asymptote() - curve[0] == pytest.approx(0.2515, abs=5e-5)
        np.testing.assert_allclose((curve - curve[0])[[1, 4, 9]], [0.0806, 0.1887, 0.2259], atol=5e-5)

    def test_gain_is_mutual_information(self):
        # theorem 4.1 and corollary 10.3 as we read them: with the posterior as combiner and log scores, the gain of k raters is
        # the information of their labels on a further one; it rises with k, ever less, towards that of the item's kind
        curve = urn_curve("abc", "cross_entropy", 9, clip=0)
        gain = curve - curve[0]
        np.testing.assert_allclose(gain, [mutual_information(k) for k in range(10)], atol=1e-12, rtol=0)
        assert (np.diff(gain) > 0).all() and (np.diff(gain, 2) < 0).all()
        assert gain[-1] < asymptote() - curve[0]

    def test_no_combiner_beats_the_posterior(self):
        # theorem 4.3 as we read it: the expected score of a proper rule is best for the probabilities given the labels
        best = urn_curve("abc", "cross_entropy", 9)
        assert (best >= urn_curve("frequency", "cross_entropy", 9) - 1e-15).all()
        best = urn_curve("abc", "agreement", 9)
        assert (best >= urn_curve("plurality", "agreement", 9) - 1e-15).all()

    @pytest.mark.parametrize(
        ("combiner", "scorer"),
        [("abc", "cross_entropy"), ("frequency", "cross_entropy"), ("plurality", "agreement")],
    )
    def test_curve_of_data_is_that_of_the_model(self, combiner, scorer):
        rng = np.random.default_rng(seed_of(f"urns {combiner}"))
        _, positive = drawn_states(20_000, 10, rng)
        found = survey_power_curve(binary_counts(positive, 10), combiner, scorer, bootstrap=200, draws=True)

        def check(model):
            off = (found["power_curve"].to_numpy() - model)[1:]
            error = found["power_curve_draw"].std("resample").to_numpy()[1:]
            assert (abs(off / error) < bonferroni_threshold(9)).all()

        check(urn_curve(combiner, scorer, 9))
        # twin: the combined raters see one label less
        assert_rejects_twin(check, np.r_[0, urn_curve(combiner, scorer, 9)[:-1]])

    def test_gain_of_data_is_mutual_information(self):
        # the same within Monte-Carlo error, on items drawn from the model: the gain, that it rises ever less, and its bound
        rng = np.random.default_rng(seed_of("urns gain"))
        _, positive = drawn_states(50_000, 10, rng)
        found = survey_power_curve(binary_counts(positive, 10), clip=0, bootstrap=200, draws=True)
        gain, drawn = (found["information_gain"].to_numpy(), found["information_gain_draw"].to_numpy())

        def within(off, draws):
            assert (abs(off) < bonferroni_threshold(len(off)) * draws.std(axis=-1)).all()

        def check(information):
            within((gain - information)[1:], drawn[1:])

        information = np.array([mutual_information(k) for k in range(10)])
        check(information)
        rise, bend = np.diff(drawn, axis=0), np.diff(drawn, 2, axis=0)
        # from k = 1 on the curve bends clearly; each rise is above 0 by more than its error
        assert (np.diff(gain) > bonferroni_threshold(9) * rise.std(axis=-1))[:5].all()
        within((np.diff(gain, 2) - np.diff(information, 2)), bend)
        assert gain[-1] < asymptote() - urn_curve("abc", "cross_entropy", 0, clip=0)[0]
        # twin: the information of one label less
        assert_rejects_twin(check, np.r_[0, information[:-1]])

    @pytest.mark.parametrize(
        ("combiner", "scorer"), [("frequency", "cross_entropy"), ("plurality", "agreement")]
    )
    def test_no_combiner_of_data_beats_the_posterior(self, combiner, scorer):
        # from k = 1 on: of no labels both are the shares of all, but for the item that is left out
        rng = np.random.default_rng(seed_of("urns best"))
        counts = binary_counts(drawn_states(50_000, 10, rng)[1], 10)
        best, other = (
            survey_power_curve(counts, name, scorer, bootstrap=200, draws=True).isel(k=slice(1, None))
            for name in ("abc", combiner)
        )

        def check(better, worse):
            more = better["power_curve"] - worse["power_curve"]
            error = (better["power_curve_draw"] - worse["power_curve_draw"]).std("resample")
            assert (more >= -bonferroni_threshold(9) * error).all()

        check(best, other)
        assert_rejects_twin(check, other, best)


def test_determinant_is_the_same_for_raters_with_a_bias():
    """Theorem 6.3: a bias of the reference raters that does not depend on the item leaves equivalences as they are."""
    rng = np.random.default_rng(seed_of("theorem 6.3"))
    state = rng.dirichlet([1, 1, 1], 60)
    amateurs = np.array([rng.multinomial(9, p) for p in state])
    experts = np.array([rng.multinomial(4, p) for p in state])
    bias = np.array([[7, 1, 2], [0, 8, 2], [3, 3, 4]])  # in tenths: what an expert says for what he means
    coords = {"item": np.arange(60), "category": ["0", "1", "2"]}

    def array(values):
        return xr.DataArray(values, coords, ("item", "category"))

    votes = [np.array([rng.multinomial(n, p) for p in state]).argmax(axis=1) for n in (1, 2)]
    predictions = xr.concat([array(np.eye(3)[vote]) for vote in votes], "classifier")
    predictions = predictions.assign_coords(classifier=["one", "two"])
    for scorer, same in (("dmi", True), ("soft_dmi", True), ("agreement", False), ("mcc", False)):
        found = [
            survey_equivalence(array(amateurs), predictions, "plurality", scorer, against=array(theirs), bootstrap=0)
            for theirs in (experts, experts @ bias)
        ]  # fmt: skip
        before, after = (d["equivalence"].to_numpy() for d in found)
        assert np.isfinite(before).all()
        assert np.allclose(before, after, rtol=1e-9) == same, scorer
        if same:
            ratio = found[1]["power_curve"][1:] / found[0]["power_curve"][1:]
            np.testing.assert_allclose(ratio, abs(np.linalg.det(bias / 10)), rtol=1e-9)
