"""Votes between twelve trees, with ties: the simulated table votes.csv of raterzoo's examples, counted by ordered pair."""

import json
from collections import Counter

import raterzoo


def values():
    """Return the data as Stan reads them."""
    pairs = raterzoo.read("examples/votes.csv", kind="comparisons")
    votes = Counter(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.outcome.tolist(), strict=True))
    sides = sorted({(left, right) for left, right, _ in votes})
    data = {"I": len(pairs.items), "N": len(sides)}
    for name, k in (("left", 0), ("right", 1)):
        data[name] = [pair[k] + 1 for pair in sides]
    return data | {"votes": [[votes[(*pair, outcome)] for outcome in (0, 1, 2)] for pair in sides]}


if __name__ == "__main__":
    print(json.dumps(values()))
