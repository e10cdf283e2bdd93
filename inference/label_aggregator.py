"""Door of scikit-learn: a matrix of answers in, probabilities of the true categories out."""

from typing import Any, Self

import numpy as np
import xarray as xr

from .. import models
from ..models._catalog import annotation_kinds
from ..models.data.errors import refused_argument
from ..posterior.schema import CORRELATION, INDEPENDENT, SAMPLE
from .sampling import sample
from .updating import given_answers, tempered

try:
    from sklearn.base import BaseEstimator
except ImportError:  # `fit` says what is missing, so that all other names of the package load
    BaseEstimator = object

NUMBERS = 5_000_000  # plausibilities at once


class LabelAggregator(BaseEstimator):  # pyright: ignore[reportGeneralTypeIssues]
    """Estimator of scikit-learn: the true categories of items, given a matrix of the answers of raters.

    The columns of X are raters, the rows items, and missing answers are NaN or None. `fit` draws the posterior of a model of
    `raterzoo.models`, and `predict_proba` returns

        p(T_i = j | x_i) = mean over draws s of  p_s(T_i = j | x_i)  proportional to  prevalence_sj prod_k confusion_s,k,j[x_ik]

    which for rows of the fit is the posterior itself. For new rows of the same raters it is the posterior with the raters as the
    fit knows them; `raterzoo.inference.update` learns from new answers, too.

    Parameters
    ----------
    model : str, optional
        Model of `raterzoo.models` with prevalence and confusion matrices of raters, such as "dawid_skene"; by default
        "correlated_votes".
    draws, chains : int
        As of `raterzoo.inference.sample`.
    random_state : int, numpy.random.RandomState, optional
        Seed of the draws; by default 1, so that a fit is reproducible.

    Attributes
    ----------
    classes_ : ndarray, shape (category,)
        Distinct answers, sorted.
    tree_ : DataTree
        Posterior, which `raterzoo.inference.diagnose` and `raterzoo.evaluation` take; categories are places in `classes_`.
    n_features_in_ : int
        Number of raters.

    Raises
    ------
    ImportError
        Of `fit`: if scikit-learn is not installed.
    ValueError
        Of `fit`: if X has fewer than two items or categories, or the model has no confusion matrices. Of `predict_proba`: if X
        has an answer that the fit has not seen, or another number of raters.

    Examples
    --------
    >>> from raterzoo import inference
    >>> answers = [["yes", "yes", "no"], ["no", "no", None], ["yes", "yes", "yes"], ["no", "yes", "no"]]
    >>> aggregator = inference.LabelAggregator("one_coin").fit(answers * 3)
    >>> aggregator.classes_.tolist(), aggregator.predict(answers[:2]).tolist()
    (['no', 'yes'], ['yes', 'no'])
    >>> aggregator.predict_proba(answers).shape
    (4, 2)

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied Statistics 28,
    equation 2.5.
    """

    def __init__(
        self, model: str | None = None, *, draws: int = 1000, chains: int = 4, random_state: Any = 1
    ) -> None:
        self.model = model
        self.draws = draws
        self.chains = chains
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the posterior of the truth of the rows of X (item, rater) and of the raters; y is not used."""
        if BaseEstimator is object:
            raise ImportError(
                "LabelAggregator needs scikit-learn: pip install 'raterzoo[agreement]'", name="sklearn"
            )
        from sklearn.utils import check_random_state

        answers = self._answers(X, reset=True)
        given = ~_missing(answers)
        self.classes_ = np.unique(answers[given])
        if len(self.classes_) < 2:
            raise ValueError(
                f"X has one class of answer, {self.classes_.tolist()}: nothing is to decide; give items on which raters differ"
            )
        item, rater = np.nonzero(given)
        codes = np.searchsorted(self.classes_, answers[given])
        table = {"item": item, "rater": rater, "label": codes}
        labels = models.Labels.from_table(table, categories=range(len(self.classes_)))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        name = self.model or annotation_kinds["labels"].default_model
        built = getattr(models, name)(labels)
        tree = sample(
            built,
            draws=self.draws,
            chains=self.chains,
            random_seed=int(seed),
            progressbar=False,
            log_likelihood=False,
        )
        posterior = tree["posterior"].to_dataset()
        confusion = posterior.get("confusion", xr.DataArray(0))
        if "rater" not in confusion.dims or "prevalence" not in posterior or "guess" in posterior:
            raise refused_argument(
                "model", f"{name} has no confusion matrices of independent raters", remedy="leave it out"
            )
        self.tree_ = tree
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (item, category) of the true categories, in the order of `classes_`."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        answers = self._answers(X, reset=False)
        given = ~_missing(answers)
        place = {value: code for code, value in enumerate(self.classes_.tolist())}
        codes = np.array([place.get(value, -1) for value in answers[given].tolist()], int)
        if (codes < 0).any():
            value = answers[given].tolist()[codes.argmin()]
            raise ValueError(
                f"X has the answer {value!r}, unknown to the fit; its answers are {self.classes_.tolist()}"
            )
        matrix = np.full(answers.shape, -1)
        matrix[given] = codes
        posterior = self.tree_["posterior"].to_dataset()
        size = posterior.sizes["chain"] * posterior.sizes["draw"] * len(self.classes_)
        step = max(NUMBERS // size, 1)
        parts = [self._plausibility(matrix[k : k + step], posterior) for k in range(0, len(matrix), step)]
        return np.concatenate(parts)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable category (item,) of each row of X."""
        found = self.predict_proba(X)
        return self.classes_[found.argmax(axis=1)]

    def _plausibility(self, matrix: np.ndarray, posterior: xr.Dataset) -> np.ndarray:
        """Return the mean plausibilities (item, category) of rows of codes, -1 where there is no answer."""
        mean = posterior["prevalence"].mean(SAMPLE).to_numpy()
        found = np.tile(mean, (len(matrix), 1))
        answered = (matrix >= 0).any(axis=1)
        if not answered.any():
            return found
        item, column = np.nonzero(matrix[answered] >= 0)
        rater = posterior.indexes["rater"].get_indexer(column)  # in the order of their first answers
        if (rater < 0).any():
            silent = int(column[rater < 0][0])
            raise ValueError(f"X has an answer of rater {silent}, who has none in the fit; fit with it")
        codes = np.full(answered.sum(), -1), item, rater, matrix[answered][item, column]
        values, _ = given_answers(posterior, codes, np.ones(len(item)))
        if CORRELATION in posterior and INDEPENDENT in posterior:
            values = tempered(values, np.bincount(item), posterior[CORRELATION])
        found[answered] = values.mean(axis=0, dtype=float)
        return found

    def _answers(self, X: Any, reset: bool) -> np.ndarray:
        """Return the answers (item, rater) that scikit-learn has validated."""
        from sklearn.utils.validation import validate_data

        return np.asarray(
            validate_data(
                self,
                X,
                reset=reset,
                dtype=None,
                ensure_all_finite="allow-nan",
                ensure_min_samples=2 if reset else 1,
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.input_tags.categorical = tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags


def _missing(answers: np.ndarray) -> np.ndarray:
    """Return which answers (item, rater) are NaN or None."""
    return np.array([own is None or own != own for own in answers.ravel()]).reshape(answers.shape)
