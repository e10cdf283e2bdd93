"""Model of answers along a taxonomy: raters may answer an ancestor of the truth, and err near it rather than far away."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from .._arguments import LABEL_MODEL, PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_pair
from .._item_features import prior_of_truth
from .._prior_arguments import positive_pair
from ..data.labels import Labels
from ..data.taxonomies import Taxonomy
from ..distributions.marginal_labels_kernels import ELSEWHERE, EXACT, HIGHER, LOWEST, SIBLING
from .observed import coords_of, observe_labels, prevalence_prior, require_identified_raters
from .responses import prior_by_rate, requests_of, words_of

RELATION_OF_ANSWER = "relation_of_answer"
DECISIONS = ("ability", "caution", "height", "nearness")


@recorded
@documented(prior_logits=PRIOR_LOGITS, returns=LABEL_MODEL)
def taxonomic(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    ability_concentration: tuple[Number, Number] = (4.0, 2.0),
    caution_concentration: tuple[Number, Number] = (1.0, 1.0),
    height_concentration: tuple[Number, Number] = (1.0, 1.0),
    nearness_concentration: tuple[Number, Number] = (1.0, 1.0),
    prior_logits: Any = None,
) -> pm.Model:
    """Build the model of a taxonomy: an answer is the true leaf, an ancestor of it, a sibling, or another node.

    Generative law, for item i, rater k and each answer a of rater k to item i; a leaf T has the ancestors A(T) that some rater
    answers, the lowest of which is a(T), and siblings S(T), the other leaves below its parent:

        p        ~ Dirichlet(alpha)
        T_i      ~ Categorical(p)                   summed out; known for gold items
        answer   true with probability q_k, else wrong
        true     an ancestor with probability c_k, else the leaf T_i; never where A(T_i) is empty
        ancestor above a(T_i) with probability h_k, each equally probable, else a(T_i)
        wrong    a sibling with probability s_k, else another node that is no ancestor; equally probable each

    with Beta priors of q, c, h and s. A decision between one alternative is none.

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    p                     prevalence            category
    q, c, h, s            ability, caution,     rater
                          height, nearness
    p(leaf | T, a leaf)   confusion             rater, category, answer
    p(inner node | T)     response_rate         rater, category, response
    p(T | all answers)    plausibility          item, category
    ====================  ====================  =================================

    Parameters
    ----------
    labels : Labels
        Labels of identified raters, read with ``taxonomy=``; the categories are its leaves. Without one the law is that of
        `one_coin`.
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    ability_concentration, caution_concentration, height_concentration, nearness_concentration : pair of float
        Beta prior of each decision, as counts of the alternative that q, c, h or s is the probability of, and of the other.
    {prior_logits}

    {returns}

    Notes
    -----
    Probabilities of a higher level are sums: ``evaluation.coarsen(tree, parent_of_leaf)``. A variable whose decision no item
    offers is left out: ``caution`` where nobody answers an inner node, ``height`` where no leaf has two such ancestors.

    Examples
    --------
    >>> import warnings
    >>> from raterzoo import models
    >>> table = {"item": [1, 1, 2, 2], "rater": ["Ann", "Bob"] * 2, "label": ["nevus", "melanocytic", "wart", "wart"]}
    >>> parent = {"nevus": "melanocytic", "melanoma": "melanocytic", "wart": "viral"}
    >>> with warnings.catch_warnings(action="ignore"):
    ...     labels = models.Labels.from_table(table, taxonomy=parent)
    >>> model = models.taxonomic(labels)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['ability', 'caution', 'nearness', 'prevalence']

    References
    ----------
    Dawid and Skene (1979), JRSS C 28(1), doi:10.2307/2346806, for the sum over the truth; the confusion matrix by relation in a
    tree follows Deng et al. (2014), Large-scale object classification using label relation graphs, ECCV,
    doi:10.1007/978-3-319-10590-1_4 (an answer is true of all that it subsumes).
    """
    require_identified_raters(labels, "taxonomic")
    words = coarse_words(labels)
    code = relations_of(labels, words)
    asked = requests_of(labels, words) if words else None
    pairs = (ability_concentration, caution_concentration, height_concentration, nearness_concentration)
    concentration: dict[str, Any] = dict(zip(DECISIONS, pairs, strict=True))
    shape = (len(labels.raters),)
    coords = coords_of(labels) | ({} if asked is None else asked.coords)
    with annotation_model(
        coords | {"node": np.array([*map(str, labels.categories.tolist()), *words])}
    ) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        skill: dict[str, Any] = {}
        for name in offered(code):
            pair = prior_pair(f"{name}_concentration", concentration[name], shape, positive_pair)
            skill[name] = pm.Beta(name, *pair, dims="rater")
        pm.Data(RELATION_OF_ANSWER, code, dims=("category", "node"))
        answer: Any = probabilities(skill, code)
        n = len(labels.categories)
        given = answer[:, :, :n].sum(axis=2, keepdims=True)
        of_leaves = answer[:, :, :n] / given
        confusion: Any = pm.Deterministic("confusion", of_leaves, dims=("rater", "category", "answer"))
        prior = prior_of_truth(labels, prevalence, None, prior_logits)
        if asked is not None:
            rate = pt.concatenate([given, answer[:, :, n:]], axis=2)
            rate = pm.Deterministic("response_rate", rate, dims=("rater", "category", "response"))
            prior = prior_by_rate(labels, asked, prior, rate)
        observe_labels(labels, prior, confusion)
    return model


def coarse_words(labels: Labels) -> list[str]:
    """Return the inner nodes that raters answer, as text, sorted."""
    if not labels.unanswered:
        return []
    inner = set(map(str, Taxonomy.of(labels.taxonomy).inner))
    return [word for word in words_of(labels) if word in inner]


def relations_of(labels: Labels, words: list[str]) -> np.ndarray:
    """Return the relation of every answer, a leaf or one of `words`, to every true leaf, int8 (category, node)."""
    tree, leaves = Taxonomy.of(labels.taxonomy), labels.categories.tolist()
    code = np.full((len(leaves), len(leaves) + len(words)), ELSEWHERE, np.int8)
    parent = [tree.parent.get(leaf) for leaf in leaves]
    for j, leaf in enumerate(leaves):
        code[j, [k for k, above in enumerate(parent) if above is not None and above == parent[j]]] = SIBLING
        code[j, j] = EXACT
        used = [str(above) for above in tree.ancestors(leaf) if str(above) in words]
        for rank, above in enumerate(used):
            code[j, len(leaves) + words.index(above)] = HIGHER if rank else LOWEST
    return code


def sizes_of(code: np.ndarray) -> np.ndarray:
    """Return the number of answers to each true leaf that are of each relation (category, relation)."""
    return (code[:, :, None] == np.arange(ELSEWHERE + 1)).sum(axis=1)


def offers_of(size: np.ndarray) -> np.ndarray:
    """Return whether a true leaf offers a decision, bool (category, decision), given the sizes (category, relation)."""
    _, lowest, higher, sibling, elsewhere = (size > 0).T
    return np.ascontiguousarray(np.array([sibling | elsewhere, lowest, higher, sibling & elsewhere]).T)


def offered(code: np.ndarray) -> list[str]:
    """Return the decisions that some true leaf offers."""
    return [name for name, own in zip(DECISIONS, offers_of(sizes_of(code)).T, strict=True) if own.any()]


def probabilities(skill: dict[str, Any], code: np.ndarray) -> TensorVariable:
    """Return p(answer | truth) of each rater (rater, category, node), given the decisions (rater,) each.

        exact q (1 - c),  lowest ancestor q c (1 - h),  higher q c h,  sibling (1 - q) s,  elsewhere (1 - q) (1 - s)

    each shared by the answers of that relation; decisions that a leaf does not offer are certain.
    """
    size = sizes_of(code)

    def of(name: str, offer: np.ndarray, otherwise: Any) -> Any:
        """Probability of a decision by true leaf (rater, category); `otherwise` where it is not offered."""
        if name not in skill:
            return np.broadcast_to(np.asarray(otherwise, float), (1, len(size)))
        return pt.where(offer, skill[name][:, None], otherwise)

    q, c, h, s = map(of, DECISIONS, offers_of(size).T, (1.0, 0.0, 0.0, (size[:, SIBLING] > 0).astype(float)))
    parts = [q * (1 - c), q * c * (1 - h), q * c * h, (1 - q) * s, (1 - q) * (1 - s)]
    relation: Any = pt.stack([part / np.maximum(size[:, r], 1) for r, part in enumerate(parts)], axis=2)
    return cast(TensorVariable, relation[:, np.arange(len(code))[:, None], code.astype(np.int64)])


SPEC = Spec(
    name="taxonomic",
    data="labels",
    summary="Leaves of a tree as truth; raters may answer an ancestor, and err near the truth or far from it",
    methods=("gibbs", "nuts"),
    reference="Dawid and Skene 1979, doi:10.2307/2346806; relations as in Deng et al. 2014",
    shared_errors="independent",
    studies={"answers that are sometimes coarser than the truth, such as a genus for a species": ""},
    assumes=(
        "An answer is the truth, an ancestor of it, a sibling or another node; a rater has four probabilities for all categories."
    ),
    needs="Named raters; a tree of the categories; several answers to most items.",
    fails="Raters confuse particular leaves that are far apart in the tree, or the tree is not theirs.",
)
