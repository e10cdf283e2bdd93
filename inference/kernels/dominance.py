"""Dominance: which candidates of an item the likelihood can tell apart by finite worths.

Candidate i beats j where some annotation ranks i before j. Candidates that beat one another,
directly or through others, form a strong component, within which the maximum-likelihood worths are
positive and finite. Between components they are not: raising all worths of a component that no
other beats never lowers the likelihood.

References
----------
Hunter (2004), MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32(1),
assumption 1, doi:10.1214/aos/1079120141.
"""

import numpy as np

from ...models.distributions.compiling import kept

__all__ = ["strong_components"]


@kept(nogil=True)
def strong_components(start, annotation_start, row_start, candidate, block):
    """Find the strong components of every item's candidates.

    Parameters
    ----------
    start : ndarray of int64, shape (item + 1,)
        Candidates of each item.
    annotation_start : ndarray of int64, shape (item + 1,)
        Annotations of each item.
    row_start : ndarray of int64, shape (annotation + 1,)
        Rows of each annotation.
    candidate : ndarray of int64, shape (row,)
        All candidates of the annotation's item, block after block.
    block : ndarray of int64, shape (row,)
        Block numbers, ascending within an annotation.

    Returns
    -------
    component : ndarray of int64, shape (candidate,)
        The first candidate of the component.
    unbeaten : ndarray of bool, shape (candidate,)
        Whether no candidate of another component beats any of this one.
    """
    component = np.empty(start[-1], np.int64)
    unbeaten = np.empty(start[-1], np.bool_)
    for item in range(len(start) - 1):
        first, n = start[item], start[item + 1] - start[item]
        reaches = np.zeros((n, n), np.bool_)
        for a in range(annotation_start[item], annotation_start[item + 1]):
            for q in range(row_start[a], row_start[a + 1]):
                for r in range(q + 1, row_start[a + 1]):
                    if block[r] > block[q]:
                        reaches[candidate[q] - first, candidate[r] - first] = True
        for via in range(n):
            for i in range(n):
                if reaches[i, via]:
                    reaches[i] |= reaches[via]
        for i in range(n):
            component[first + i] = first + i
            unbeaten[first + i] = True
            for j in range(n):
                if reaches[j, i] and not reaches[i, j]:
                    unbeaten[first + i] = False
            for j in range(i):
                if reaches[j, i] and reaches[i, j]:
                    component[first + i] = component[first + j]
                    break
    return component, unbeaten
