"""Points at which the log density of the Stan text is compared with ours, up to a constant."""

from typing import Any

import numpy as np

from .pairs import LAWS, PAIRS, build, name_of, read_data

N_POINTS = 5
ZERO_SUM = ("quality", "log_reliability")  # of Stan: coordinates in a basis


def points() -> list[dict[str, Any]]:
    """Return for each pair its data, points as parameters of Stan, and our log densities of the parameters there."""
    found = []
    for source, law in PAIRS:
        data = read_data(source)
        model = build(law, data)
        density = model.compile_logp(jacobian=False)
        outputs = [own for own in model.unobserved_value_vars if own.name in LAWS[law].parameters]
        values = model.compile_fn(outputs)
        rng, start = np.random.default_rng(1), model.initial_point()
        each = []
        for _ in range(N_POINTS):
            point = {name: rng.normal(0, 0.7, np.shape(value)) for name, value in start.items()}
            drawn = dict(zip([own.name for own in outputs], values(point), strict=True))
            each.append({"parameters": _of_stan(drawn), "log_density": float(density(point))})
        entry = {"name": name_of(source, law), "model": law, "data": data, "points": each}
        found.append(entry)
    return found


def _of_stan(drawn: dict[str, Any]) -> dict[str, Any]:
    """Return values by the names of the Stan program; those that sum to zero by their coordinates."""
    given = {}
    for name, value in drawn.items():
        if name in ZERO_SUM:
            given[f"{name}_free"] = (zero_sum_basis(len(value)).T @ value).tolist()
        else:
            given[name] = np.asarray(value).tolist()
    return given


def zero_sum_basis(n: int) -> np.ndarray:
    """Orthonormal columns of sum zero (n, n - 1), as in the Stan programs."""
    basis = np.zeros((n, n - 1))
    for k in range(1, n):
        basis[:k, k - 1] = 1 / np.sqrt(k * (k + 1))
        basis[k, k - 1] = -k / np.sqrt(k * (k + 1))
    return basis
