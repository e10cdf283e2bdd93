"""Posterior inference: samplers, PyMC steps, convergence diagnostics, point estimates, study design."""

from .._exports import attach_stub

MOVED = {  # to raterzoo.papers
    "alternating_gradient", "glad_em", "joint_mle", "label_combiner", "mace_em", "normal_scores_posterior",
    "normal_scores_prior", "shared_guess_em",
}  # fmt: skip
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, moved=MOVED)
