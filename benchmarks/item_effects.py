"""Label models with item effects summed out: cost of a gradient and of converged draws by default.

python benchmarks/item_effects.py                1,000 items x 5 answers, 50 raters
python benchmarks/item_effects.py ordinal        one model
"""

import sys
from time import process_time

import arviz as az
import numpy as np
from raterzoo import inference, models

ITEMS, RATERS, ANSWERS = 1000, 50, 5
LABELS = {"item_difficulty": 3, "logistic_random_effects": 3, "ordinal": 5, "hierarchical_dawid_skene": 3}


def labels_of(rng, n, ordered):
    """Simulate answers by the law of the graded response, or of logistic random effects."""
    item = np.repeat(np.arange(ITEMS), ANSWERS)
    rater = np.concatenate([rng.choice(RATERS, ANSWERS, replace=False) for _ in range(ITEMS)])
    if ordered:
        scale, shift = 0.5 * np.exp(rng.normal(0, 0.3, RATERS)), rng.normal(0, 0.4, RATERS)
        seen = rng.normal(size=ITEMS)[item] + scale[rater] * rng.logistic(size=len(item))
        cuts = np.linspace(-1.3, 1.3, n - 1) + shift[rater][:, None]
        label = (seen[:, None] > cuts).sum(axis=1)
    else:
        favoured = 2 * (np.eye(n)[:, :-1] - np.eye(n)[:, -1:])
        beta = favoured + rng.normal(0, 0.7, (RATERS, n, n - 1))
        odds = beta[rater, rng.integers(0, n, ITEMS)[item]]
        odds = odds - rng.normal(0, 0.8, (ITEMS, n - 1))[item]
        odds = np.concatenate([odds, np.zeros((len(item), 1))], axis=1)
        label = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    table = {"item": item, "rater": rater, "label": label}
    return models.Labels.from_table(table, categories=range(n))


def milliseconds_of_gradient(model, times=50):
    """Return CPU time of log density and gradient together."""
    compiled = model.compile_fn([model.logp(), model.dlogp()], inputs=model.value_vars, point_fn=False)
    start = model.initial_point()
    point = [start[str(value.name)] for value in model.value_vars]
    compiled(*point)
    before = process_time()
    for _ in range(times):
        compiled(*point)
    return (process_time() - before) / times * 1e3


if __name__ == "__main__":
    for name in sys.argv[1:] or LABELS:
        n = LABELS[name]
        data = labels_of(np.random.default_rng(1), n, name == "ordinal")
        model = getattr(models, name)(data)
        cost = milliseconds_of_gradient(model)
        before = process_time()
        tree = inference.sample(model, cores=1, random_seed=1, progressbar=False)
        seconds = process_time() - before
        every = int(tree["sample_stats"].get("thinning", 1))
        judged = inference.diagnose(tree).attrs
        assert judged["converged"], f"{name}: {judged['verdict']}"
        free = [str(rv.name) for rv in model.free_RVs]
        rhat = max(float(x.max()) for x in az.rhat(tree, var_names=free).data_vars.values())
        ess = min(float(x.min()) for x in az.ess(tree, var_names=free).data_vars.values())
        print(
            f"{name:26s} gradient {cost:6.2f} ms, 4 x 1,000 draws, each of {every}, {seconds:5.0f} CPU s, "
            f"R-hat {rhat:.3f}, ESS {ess:5.0f}, elpd {az.loo(tree).elpd:8.1f}"
        )
