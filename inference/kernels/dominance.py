"""Dominance between the candidates of an item: where maximum-likelihood worths are finite.

Candidate i beats j if some annotation ranks i before j. Candidates that beat one another, directly or through
others, form a strong component, within which the maximum-likelihood worths are positive and finite. Between
components they are not: raising all worths of an unbeaten component never lowers the likelihood.

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
    """Return the strong component of each candidate, and whether that component is unbeaten.

    Shapes: start, annotation_start (item + 1,); row_start (annotation + 1,); candidate, block (row,): all
    candidates of the annotation's item, block numbers ascending; component int64 (candidate,): its first
    candidate; unbeaten bool (candidate,): no candidate of another component beats any of this one.
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
        # transitive closure (Warshall)
        for via in range(n):
            for i in range(n):
                if reaches[i, via]:
                    reaches[i] |= reaches[via]
        for i in range(n):
            component[first + i] = first + i
            unbeaten[first + i] = True
            for j in range(n):
                # beaten by another component
                if reaches[j, i] and not reaches[i, j]:
                    unbeaten[first + i] = False
            for j in range(i):
                if reaches[j, i] and reaches[i, j]:
                    component[first + i] = component[first + j]
                    break
    return component, unbeaten
