"""Parameters put into models whose items have an effect, and likelihoods by fine integration, written independently."""

import pymc as pm
import pytensor

FAST = "FAST_COMPILE"


def outputs_at(model, point, *names):
    """Return log p of each item, and variables, at a point of all free variables."""
    fixed = pm.do(model, point)
    (log_p,) = fixed.logp(vars=[fixed["observed_label"]], sum=False)
    return pytensor.function([], [log_p, *(fixed[name] for name in names)], mode=FAST)()


def drawn_point(model, seed):
    """Return a draw of all free variables from their prior."""
    names = [rv.name for rv in model.free_RVs]
    values = pm.draw(model.free_RVs, random_seed=seed, mode=FAST)
    return dict(zip(names, values, strict=True))
