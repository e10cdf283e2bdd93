"""Answers of simulated crowds, as frames with crowd-kit's columns."""

import numpy as np
import pandas as pd


def crowd(seed, items=40, raters=6, each=4, categories=3):
    """Items answered by raters who know or name a label they like; raters and labels first appear in the order of their names."""
    rng = np.random.default_rng(seed)
    truth, task = rng.integers(0, categories, items), np.repeat(np.arange(items), each)
    worker = np.concatenate([rng.permutation(raters)[:each] for _ in truth])
    skill, liked = rng.beta(2, 1, raters), rng.integers(0, categories, raters)[worker]
    guess = np.where(rng.random(len(task)) < 0.7, liked, rng.integers(0, categories, len(task)))
    label = np.where(rng.random(len(task)) < skill[worker], truth[task], guess)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label})
    return frame.sort_values(["worker", "label", "task"], ignore_index=True)
