"""Tables of yes and no by five raters of forty items, in every layout, and predictions of them, for the command line."""

import numpy as np

from tests.support.command_line import read, write

__all__ = ["FAST", "LABELS", "N_ITEMS", "N_RATERS", "answers", "spoilt", "write_tables"]

N_ITEMS, N_RATERS = 40, 5
LABELS = ["no", "yes"]
FAST = ("--bootstrap", 50)


def answers():
    """Return the share of yes (item,) and the answers (item, rater)."""
    rng = np.random.default_rng(8)
    share = rng.choice([0.1, 0.5, 0.9], N_ITEMS)
    return share, rng.random((N_ITEMS, N_RATERS)) < share[:, None]


def write_tables(folder):
    """Write labels in every layout; a classifier that knows the shares, one that inverts them, and hard ones."""
    share, yes = answers()
    items = [f"i{i}" for i in range(N_ITEMS)]
    item, rater = np.repeat(items, N_RATERS), np.tile([f"r{r}" for r in range(N_RATERS)], N_ITEMS)
    code = yes.astype(int)
    names = np.array(LABELS)
    long = {"item": item, "rater": rater, "label": names[code.ravel()]}
    wide = {"item": items} | {f"r{r}": names[code[:, r]] for r in range(N_RATERS)}
    counts = {"item": items, "no": (1 - code).sum(axis=1), "yes": code.sum(axis=1)}
    soft = {"item": [], "category": [], "score": [], "classifier": []}
    for name, p in (("ideal", share), ("inverse", 1 - share)):
        for i, q in enumerate(p):
            for category, chance in zip(LABELS, (1 - q, q), strict=True):
                for cells, cell in zip(soft.values(), (items[i], category, chance, name), strict=True):
                    cells.append(cell)
    hard = {"item": items, "category": names[(share > 0.4).astype(int)], "rank": [1] * N_ITEMS}
    tables = {"long": long, "wide": wide, "counts": counts, "soft": soft, "hard": hard}
    return {name: write(folder / f"{name}.csv", table) for name, table in tables.items()}


def spoilt(files, folder, change):
    """Write the soft predictions after `change` of their columns."""
    rows = read(files["soft"])
    table = {n: [row[n] for row in rows] for n in rows[0]}
    change(table)
    return write(folder / "spoilt.csv", table)
