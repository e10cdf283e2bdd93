"""Truth by the effective number of votes, of draws of prevalence, confusion and the correlation of votes.

p(T_i = j | y)  proportional to  (p_j prod_a pi[rater_a, j, label_a]) ^ (1 / (1 + (n_i - 1) rho))
"""

import math

import numpy as np

from ....models.distributions.compiling import cached_njit
from ....models.distributions.marginal_labels_kernels import Answers

SMALLEST = np.finfo(np.float32).tiny  # storage may have rounded a probability to 0


@cached_njit(nogil=True, error_model="numpy")
def effective_truth(
    answers: Answers,
    prevalence: np.ndarray,
    table: np.ndarray,
    correlation: np.ndarray,
    plausibility: np.ndarray,
) -> None:
    """Overwrite the plausibility (draw, item, category) of each draw.

    Shapes: prevalence (draw, category), table (draw, rater * label, category), correlation (draw,).
    """
    start, code, known = answers
    n = prevalence.shape[1]
    log_table, log_p = np.empty(table.shape[1:]), np.empty(n)
    for d in range(len(correlation)):
        for row in range(len(log_table)):
            for j in range(n):
                log_table[row, j] = math.log(max(table[d, row, j], SMALLEST))
        for i in range(len(known)):
            p = plausibility[d, i]
            if known[i] >= 0:
                p[:] = 0.0
                p[known[i]] = 1.0
                continue
            log_p[:] = 0.0
            for a in range(start[i], start[i + 1]):
                for j in range(n):
                    log_p[j] += log_table[code[a], j]
            power = 1.0 / (1.0 + max(start[i + 1] - start[i] - 1, 0) * correlation[d])
            largest, total = -np.inf, 0.0
            for j in range(n):
                log_p[j] = power * (math.log(max(prevalence[d, j], SMALLEST)) + log_p[j])
                largest = max(largest, log_p[j])
            for j in range(n):
                log_p[j] = math.exp(log_p[j] - largest)
                total += log_p[j]
            for j in range(n):
                p[j] = log_p[j] / total
