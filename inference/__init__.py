"""How the posterior is drawn: samplers, PyMC steps, convergence, point estimates."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:
    from .diagnostics import ConvergenceWarning as ConvergenceWarning
    from .diagnostics import diagnose as diagnose
    from .labelling import label as label
    from .point.dawid_skene_em import EstimateWarning as EstimateWarning
    from .point.dawid_skene_em import dawid_skene_em as dawid_skene_em
    from .point.irn import irn as irn
    from .point.majority_vote import majority_vote as majority_vote
    from .point.plackett_luce_mle import plackett_luce_mle as plackett_luce_mle
    from .relabelling import relabel as relabel
    from .sampling import sample as sample
    from .steps.confusion_gibbs import ConfusionGibbs as ConfusionGibbs
    from .steps.worth_gibbs import WorthGibbs as WorthGibbs
    from .sweeping import sweep as sweep

__all__ = [
    "ConfusionGibbs",
    "ConvergenceWarning",
    "EstimateWarning",
    "WorthGibbs",
    "dawid_skene_em",
    "diagnose",
    "irn",
    "label",
    "majority_vote",
    "plackett_luce_mle",
    "relabel",
    "sample",
    "sweep",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ConfusionGibbs": ".steps.confusion_gibbs",
        "ConvergenceWarning": ".diagnostics",
        "EstimateWarning": ".point.dawid_skene_em",
        "WorthGibbs": ".steps.worth_gibbs",
        "dawid_skene_em": ".point.dawid_skene_em",
        "diagnose": ".diagnostics",
        "irn": ".point.irn",
        "label": ".labelling",
        "majority_vote": ".point.majority_vote",
        "plackett_luce_mle": ".point.plackett_luce_mle",
        "relabel": ".relabelling",
        "sample": ".sampling",
        "sweep": ".sweeping",
    },
)
