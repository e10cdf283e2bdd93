"""Answers along a tree: the law and the sampler against enumeration, the container, and a law without ancestors as wrong twin."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
import raterzoo
from raterzoo import evaluation, inference, models
from scipy.special import betaln, gammaln

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, check_means

pytestmark = [
    pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning"),
    pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning"),
]
PARENT = {"a": "A", "b": "A", "c": "B", "A": "R", "B": "R", "d": "R", "R": None}
ROWS = [
    *((1, "r", "a"), (1, "s", "A"), (1, "t", "b"), (2, "r", "c"), (2, "s", "R"), (2, "t", "B")),
    *((3, "r", "d"), (3, "s", "d"), (3, "t", "A"), (4, "r", "A"), (4, "t", "R"), (4, "s", "a")),
]
TABLE = dict(zip(("item", "rater", "label"), map(list, zip(*ROWS, strict=True)), strict=True))
PAIRS = {"ability": (4.0, 2.0), "caution": (1.0, 2.0), "height": (1.5, 1.0), "nearness": (1.0, 1.0)}
PRIORS = {f"{name}_concentration": pair for name, pair in PAIRS.items()}
NODES = ("a", "b", "c", "d", "A", "B", "R")
# what each answer to a true leaf decides: the decisions and the alternative taken, and how many answers share it
TOLD = {
    "a": {"a": "tl", "b": "ws", "c": "we", "d": "we", "A": "tal", "B": "we", "R": "tah"},
    "b": {"a": "ws", "b": "tl", "c": "we", "d": "we", "A": "tal", "B": "we", "R": "tah"},
    "c": {"a": "w", "b": "w", "c": "tl", "d": "w", "A": "w", "B": "tal", "R": "tah"},
    "d": {"a": "w", "b": "w", "c": "w", "d": "tl", "A": "w", "B": "w", "R": "ta"},
}


def decisions(truth, answer):
    """Return (decision, whether the first alternative was taken) of an answer, and the number of answers that share it."""
    told = TOLD[truth][answer]
    alike = sum(own == told for own in TOLD[truth].values())
    found = [("ability", told[0] == "t")]
    if told[0] == "t":
        found.append(("caution", told[1] == "a"))
        found += [("height", told[2] == "h")] if len(told) == 3 else []
    elif len(told) == 2:
        found.append(("nearness", told[1] == "s"))
    return found, alike


def exact(rows, items):
    """Return p(true leaf | answers) of the items with all parameters summed out, by enumeration of the truths."""
    total, weighted = 0.0, 0.0
    for truth in product("abcd", repeat=len(items)):
        taken = {(k, name): list(pair) for k in "rst" for name, pair in PAIRS.items()}
        log_p = gammaln(1 + np.array([truth.count(leaf) for leaf in "abcd"])).sum()
        for i, k, answer in rows:
            made, alike = decisions(truth[items.index(i)], answer)
            log_p -= np.log(alike)
            for name, first in made:
                taken[k, name][0 if first else 1] += 1
        log_p += sum(betaln(*after) - betaln(*PAIRS[name]) for (_, name), after in taken.items())
        weight = np.exp(log_p)
        total += weight
        weighted += weight * np.array([[leaf == own for leaf in "abcd"] for own in truth])
    return weighted / total


@pytest.fixture
def labels():
    return models.Labels.from_table(TABLE, taxonomy=PARENT)


def test_law_is_that_of_the_decisions(labels):
    """Probabilities of every answer to every truth, at random parameters, and p(truth | answers) of each item."""
    model = models.taxonomic(labels, **PRIORS)
    values = dict(zip(map(str, model.free_RVs), pm.draw(model.free_RVs, random_seed=2), strict=True))
    outputs = ["confusion", "response_rate", "plausibility"]
    options = {"inputs": model.free_RVs, "point_fn": False, "mode": "FAST_COMPILE"}
    given = model.compile_fn([model[name] for name in outputs], **options)(*values.values())
    found = dict(zip(outputs, given, strict=True))
    whole = np.concatenate(
        [found["confusion"] * found["response_rate"][..., :1], found["response_rate"][..., 1:]], axis=2
    )
    np.testing.assert_allclose(whole.sum(axis=2), 1, rtol=1e-12)
    words = model.coords["response"][1:]
    log_p = np.tile(np.log(values["prevalence"]), (4, 1))
    for k, rater in enumerate(labels.raters):
        for j, leaf in enumerate("abcd"):
            for answer in NODES:
                made, alike = decisions(leaf, answer)
                p = np.prod([values[n][k] if first else 1 - values[n][k] for n, first in made]) / alike
                place = "abcd".index(answer) if answer in "abcd" else 4 + list(words).index(answer)
                np.testing.assert_allclose(whole[k, j, place], p, rtol=1e-10)
                for i, who, said in ROWS:
                    if who == rater and said == answer:
                        log_p[labels.items.tolist().index(i), j] += np.log(p)
    p = np.exp(log_p)
    np.testing.assert_allclose(found["plausibility"], p / p.sum(axis=1, keepdims=True), rtol=1e-10)


def check(tree, expected):
    check_means(tree["posterior"]["plausibility"].to_numpy(), expected)


@pytest.mark.slow
def test_gibbs_is_the_enumeration(labels):
    expected = exact(ROWS, labels.items.tolist())
    options = {"random_seed": 3, "progressbar": False, "dtype": "float64"}
    model = models.taxonomic(labels, **PRIORS)
    tree = inference.sample(model, draws=5_000, **options)
    assert tree.attrs["method"] == "gibbs" and tree.attrs["model"] == "taxonomic"
    check(tree, expected)
    flat = exact([(i, k, said if said != "R" else "A") for i, k, said in ROWS], labels.items.tolist())
    assert_rejects_twin(check, tree, flat)


@pytest.mark.long
def test_nuts_is_the_enumeration(labels):
    options = {"method": "nuts", "draws": 1_000, "tune": 1_000, "random_seed": 3, "progressbar": False}
    tree = inference.sample(models.taxonomic(labels, **PRIORS), **options)
    check(tree, exact(ROWS, labels.items.tolist()))


@pytest.mark.long
def test_ranks_of_the_truth_are_uniform(labels):
    """90 studies from the prior: the rank of every decision among independent draws; those of another prior are not uniform."""

    def ranks(told):
        rng, found = np.random.default_rng(5), []
        for study in range(90):
            skill = {name: rng.beta(*pair, 3) for name, pair in PAIRS.items()}
            truth, rows = rng.choice(list("abcd"), 12, p=rng.dirichlet(np.ones(4))), []
            for i, leaf in enumerate(truth):
                for k, rater in enumerate("rst"):
                    p = [
                        np.prod([skill[n][k] if first else 1 - skill[n][k] for n, first in made]) / alike
                        for made, alike in (decisions(leaf, answer) for answer in NODES)
                    ]
                    rows.append((i, rater, rng.choice(NODES, p=np.array(p) / sum(p))))
            if not set("ABR") <= {said for *_, said in rows}:
                continue  # the law is of the nodes that somebody answers
            table = dict(zip(("item", "rater", "label"), map(list, zip(*rows, strict=True)), strict=True))
            data = models.Labels.from_table(table, taxonomy=PARENT)
            if len(data.raters) < 3:
                continue
            options = {"draws": 99, "chains": 1, "thin": 10, "random_seed": study, "log_likelihood": False}
            model = models.taxonomic(data, **PRIORS | told)
            drawn = inference.sample(model, progressbar=False, **options)["posterior"]
            order = [data.raters.tolist().index(k) for k in "rst"]
            found.append([(drawn[n].to_numpy()[0][:, order] < skill[n]).sum(axis=0) for n in PAIRS])
        return np.array(found)

    def check_uniform(found):
        n = len(found)
        z = (found.mean(axis=0) - 49.5) / np.sqrt((100**2 - 1) / 12 / n)
        assert n > 40 and np.abs(z).max() < bonferroni_threshold(z.size)

    check_uniform(ranks({}))
    assert_rejects_twin(check_uniform, ranks({"ability_concentration": (2.0, 3.0)}))


def test_container_keeps_the_tree(labels):
    assert labels.categories.tolist() == list("abcd")
    assert sorted(labels.unanswered["answer"].tolist()) == ["A", "A", "A", "B", "R", "R"]
    assert set(labels.taxonomy["parent"].tolist()) == {"A", "B", "R"}
    part = labels.select(items=[1, 2])
    assert len(part.unanswered["answer"]) == 3 and len(part.taxonomy["node"]) == 6
    assert (
        labels
        == models.Labels.from_table(TABLE, taxonomy=PARENT)
        != models.Labels.from_table({**TABLE, "label": ["a"] * 12}, taxonomy=PARENT)
    )


def test_files_are_read_with_the_tree(labels, tmp_path):
    rows = [",".join(map(str, row)) for row in ROWS]
    (tmp_path / "answers.csv").write_text("\n".join(["item,rater,label", *rows]))
    found = raterzoo.read(tmp_path / "answers.csv", kind="labels", taxonomy=PARENT)
    np.testing.assert_array_equal(found.unanswered["answer"], labels.unanswered["answer"])
    assert found.taxonomy["parent"].tolist() == labels.taxonomy["parent"].tolist()


def test_levels_are_sums(labels):
    tree = inference.sample(models.taxonomic(labels), draws=50, chains=2, random_seed=1, progressbar=False)
    upper = evaluation.coarsen(tree, {"a": "A", "b": "A", "c": "B", "d": "d"})["posterior"]["plausibility"]
    own = tree["posterior"]["plausibility"].sel(category=["a", "b"]).sum("category")
    np.testing.assert_allclose(upper.sel(category="A", drop=True).transpose(*own.dims), own, rtol=1e-5)


def test_without_inner_nodes_there_is_no_caution():
    table = {"item": [1, 1, 2, 2], "rater": ["r", "s"] * 2, "label": ["a", "b", "c", "a"]}
    model = models.taxonomic(models.Labels.from_table(table, taxonomy=PARENT))
    assert {str(rv) for rv in model.free_RVs} == {"prevalence", "ability", "nearness"}
    assert inference.sample(model, draws=20, tune=5, chains=1, progressbar=False).attrs["method"] == "gibbs"


@pytest.mark.parametrize(
    "taxonomy",
    [{"a": "A", "A": "B", "B": "a"}, ["a"], {"a": "A"}, {"a": 1, "b": "A"}, {"a": "A", "b": "A"}],
    ids=["cycle", "list", "one leaf", "two types", "unknown answer"],
)
def test_wrong_trees_are_refused(taxonomy, golden):
    with golden.raises(models.DataError):
        models.Labels.from_table(TABLE, taxonomy=taxonomy)


def test_without_a_tree_the_law_is_that_of_one_coin():
    flat = models.Labels.from_table({**TABLE, "label": list("abcabcabcabc")})
    own, coin = models.taxonomic(flat), models.one_coin(flat)
    assert {str(rv) for rv in own.free_RVs} == {"prevalence", "ability"}
    point = coin.initial_point()
    np.testing.assert_allclose(own.compile_logp()(point), coin.compile_logp()(point), rtol=1e-12)
