"""Votes with covariates at the size of a leaderboard: CPU seconds from frame to intervals, beside a logistic regression.

`python -m benchmarks.vote_covariates [votes]`: 50 items, 3 covariates, ties as Davidson; 4 chains of 500 draws. Functions are
compiled before. The peer is scikit-learn's logistic regression of decided votes on items and covariates: its estimates alone,
without standard errors, ranks or ties; and arena-rank, where it is installed.
"""

import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
from raterzoo import evaluation, inference, models
from scipy.sparse import csr_array, hstack
from sklearn.linear_model import LogisticRegression

from benchmarks.comparison_posteriors import cpu

ITEMS, EFFECTS, TIE = 50, (0.5, 0.2, 0.1), 0.5


def votes(n: int, seed: int = 1) -> pd.DataFrame:
    """Return votes with covariates whose root mean square is one half."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.7, ITEMS)
    left = rng.integers(0, ITEMS, n)
    right = (left + rng.integers(1, ITEMS, n)) % ITEMS
    z = 0.5 * rng.normal(size=(n, len(EFFECTS)))
    x = quality[left] - quality[right] + z @ EFFECTS
    shares = np.stack([np.exp(x / 2), np.exp(-x / 2), np.full(n, TIE)]).cumsum(axis=0)
    winner = np.array(["left", "right", "tie"])[(rng.random(n) * shares[-1] > shares).sum(axis=0)]
    columns = {"left": left, "right": right, "winner": winner}
    return pd.DataFrame(columns | {f"z{k}": own for k, own in enumerate(z.T)})


def ours(frame: pd.DataFrame, draws: int = 500):
    """Return the leaderboard and the draws."""
    pairs = models.Comparisons.from_table(frame, rater=None)
    model = models.bradley_terry(pairs, vote_covariates=frame)
    tree = inference.sample(
        model, draws=draws, chains=4, random_seed=1, progressbar=False, log_likelihood=False
    )
    return evaluation.rank_intervals(tree), tree


def peer(frame: pd.DataFrame) -> np.ndarray:
    """Return the coefficients of a logistic regression of the decided votes."""
    own = frame[frame.winner != "tie"]
    row, one = np.arange(len(own)), np.ones(len(own))
    shape = (len(own), ITEMS)
    design = csr_array((one, (row, own.left)), shape) - csr_array((one, (row, own.right)), shape)
    columns = hstack([design, csr_array(own.filter(like="z").to_numpy())]).tocsr()
    return LogisticRegression(C=1.0, max_iter=500).fit(columns, own.winner == "left").coef_[0]


def main() -> None:
    """Print CPU seconds, the largest R-hat and the estimated effects."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 140_000
    ours(votes(25_000), 200)
    frame = votes(n)
    (_, tree), seconds, _ = cpu(lambda: ours(frame))
    found = inference.diagnose(tree)
    effect = tree["posterior"]["vote_effect"].mean(("chain", "draw")).to_numpy()
    effect = effect / tree["constant_data"]["vote_covariate_scale"].to_numpy()
    print(
        f"raterzoo: {seconds:.1f} CPU s, R-hat {float(found['r_hat'].max()):.4f}, effects {effect.round(3)}"
    )
    coefficients, seconds, _ = cpu(lambda: peer(frame))
    print(f"scikit-learn: {seconds:.1f} CPU s, effects {coefficients[-3:].round(3)}, no intervals")
    if find_spec("arena_rank") is None:
        print("arena-rank is not installed; 7.3 CPU s were measured for 140,000 votes")


if __name__ == "__main__":
    main()
