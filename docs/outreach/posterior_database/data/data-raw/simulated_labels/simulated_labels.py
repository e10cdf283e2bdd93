"""Answers of five raters to sixty items with two categories, drawn from Dawid and Skene's model."""

import json

from raterzoo import models


def values():
    """Return the data as Stan reads them."""
    drawn = models.simulators.labels(model="dawid_skene", items=60, raters=5, categories=2, random_seed=1)
    item, rater, answer = (drawn.data.to_table()[name] for name in ("item", "rater", "label"))
    data = {"K": 2, "I": 60, "J": 5, "N": len(answer)}
    codes = (
        [names.tolist().index(one) + 1 for one in column]
        for names, column in (
            (drawn.data.items, item),
            (drawn.data.raters, rater),
            (drawn.data.categories, answer),
        )
    )
    beta = [[4.8, 3.2], [3.2, 4.8]]  # eight answers a row, six in ten of them right
    return data | dict(zip(("ii", "jj", "y"), codes, strict=True)) | {"alpha": [1.0, 1.0], "beta": beta}


if __name__ == "__main__":
    print(json.dumps(values()))
