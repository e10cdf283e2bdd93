"""Posterior inference: samplers, PyMC steps, convergence diagnostics, point estimates, study design."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:
    from . import design as design
    from .checkpointing import resume as resume
    from .diagnostics import ConvergenceWarning as ConvergenceWarning
    from .diagnostics import diagnose as diagnose
    from .labelling import label as label
    from .next_label import label_combiner as label_combiner
    from .normal_approximation import laplace as laplace
    from .normal_approximation import laplace_sample as laplace_sample
    from .point.alternating_gradient import alternating_gradient as alternating_gradient
    from .point.bradley_terry_mle import bradley_terry_mle as bradley_terry_mle
    from .point.conjugate_prior import normal_scores_prior as normal_scores_prior
    from .point.dawid_skene_em import EstimateWarning as EstimateWarning
    from .point.dawid_skene_em import dawid_skene_em as dawid_skene_em
    from .point.glad_em import glad_em as glad_em
    from .point.initial_values import initial_values as initial_values
    from .point.irn import irn as irn
    from .point.mace_em import mace_em as mace_em
    from .point.majority_vote import majority_vote as majority_vote
    from .point.plackett_luce_mle import plackett_luce_mle as plackett_luce_mle
    from .point.quite import quite as quite
    from .relabelling import relabel as relabel
    from .resume_warning import ResumeWarning as ResumeWarning
    from .sampling import sample as sample
    from .scattering import scatter as scatter
    from .score_posterior import normal_scores_posterior as normal_scores_posterior
    from .sharded_labels import dawid_skene_gibbs as dawid_skene_gibbs
    from .steps.confusion_gibbs import ConfusionGibbs as ConfusionGibbs
    from .steps.laplace_hmc import LaplaceHMC as LaplaceHMC
    from .steps.worth_gibbs import WorthGibbs as WorthGibbs
    from .sweeping import sweep as sweep
    from .units import in_units as in_units

__all__ = [
    "ConfusionGibbs",
    "ConvergenceWarning",
    "EstimateWarning",
    "LaplaceHMC",
    "ResumeWarning",
    "WorthGibbs",
    "alternating_gradient",
    "bradley_terry_mle",
    "dawid_skene_em",
    "dawid_skene_gibbs",
    "design",
    "diagnose",
    "glad_em",
    "in_units",
    "initial_values",
    "irn",
    "label",
    "label_combiner",
    "laplace",
    "laplace_sample",
    "mace_em",
    "majority_vote",
    "normal_scores_posterior",
    "normal_scores_prior",
    "plackett_luce_mle",
    "quite",
    "relabel",
    "resume",
    "sample",
    "scatter",
    "sweep",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ConfusionGibbs": ".steps.confusion_gibbs",
        "ConvergenceWarning": ".diagnostics",
        "EstimateWarning": ".point.dawid_skene_em",
        "LaplaceHMC": ".steps.laplace_hmc",
        "ResumeWarning": ".resume_warning",
        "WorthGibbs": ".steps.worth_gibbs",
        "alternating_gradient": ".point.alternating_gradient",
        "bradley_terry_mle": ".point.bradley_terry_mle",
        "dawid_skene_em": ".point.dawid_skene_em",
        "dawid_skene_gibbs": ".sharded_labels",
        "design": ".design",
        "diagnose": ".diagnostics",
        "glad_em": ".point.glad_em",
        "in_units": ".units",
        "initial_values": ".point.initial_values",
        "irn": ".point.irn",
        "label": ".labelling",
        "label_combiner": ".next_label",
        "laplace": ".normal_approximation",
        "laplace_sample": ".normal_approximation",
        "mace_em": ".point.mace_em",
        "majority_vote": ".point.majority_vote",
        "normal_scores_posterior": ".score_posterior",
        "normal_scores_prior": ".point.conjugate_prior",
        "plackett_luce_mle": ".point.plackett_luce_mle",
        "quite": ".point.quite",
        "relabel": ".relabelling",
        "resume": ".checkpointing",
        "sample": ".sampling",
        "scatter": ".scattering",
        "sweep": ".sweeping",
    },
)
