"""Pages have headings, names, scopes and contrasts as WCAG 2.2 AA asks, and load nothing."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models, reports
from raterzoo.evaluation.plots import style
from raterzoo.reports.figures import PAGE_COLOURS

from tests.support.pages import data_of, foreign_scripts

RNG = np.random.default_rng(2)
SMALL = {"draws": 60, "chains": 2, "random_seed": 1, "progressbar": False, "log_likelihood": True}
VOID = {"meta", "br", "hr", "img", "input", "link"}
TEXT_ON = {  # colour of text -> its backgrounds
    "--ink": ("--paper", "--box", "--band"),
    "--grey": ("--paper", "--box"),
    "--link": ("--paper",),
    "--alarm": ("--alarm-box",),
}


class Page(HTMLParser):
    """Elements of a page in order: (tag, attributes, text inside)."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        own = [tag, dict(attrs), ""]
        self.elements.append(own)
        if tag not in VOID:
            self.open.append(own)

    def handle_startendtag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        while self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for own in self.open:
            own[2] += data

    def all(self, *tags):
        return [own for own in self.elements if own[0] in tags]


def problems(text):
    """Return what a reader with a screen reader or a keyboard would miss."""
    page, found = Page(text), []
    ids = [own[1]["id"] for own in page.elements if "id" in own[1]]
    texts = {own[1]["id"]: own[2].strip() for own in page.elements if "id" in own[1]}
    found += ["an id twice"] * (len(ids) > len(set(ids)))
    levels = [int(own[0][1]) for own in page.all("h1", "h2", "h3", "h4", "h5", "h6")]
    found += ["not one h1"] * (levels[:1] != [1] or levels.count(1) != 1)
    found += ["a level of headings is left out"] * any(b > a + 1 for a, b in pairwise(levels))
    found += ["no language"] * ([own[1].get("lang") for own in page.all("html")] != ["en"])
    found += ["no title"] * (not all(own[2].strip() for own in page.all("title")))
    for _, attrs, _ in page.all("svg"):
        named = [texts.get(own) for own in attrs.get("aria-labelledby", "-").split()]
        found += ["a figure without a name"] * (attrs.get("role") != "img" or not all(named))
    found += ["a figure without a caption"] * (len(page.all("figure")) != len(page.all("figcaption")))
    found += ["a caption that breaks off"] * any(
        own[2].rstrip().endswith(":") for own in page.all("figcaption")
    )
    found += ["a header without a scope"] * any("scope" not in own[1] for own in page.all("th"))
    boxes = [own[1] for own in page.elements if "scroll" in own[1].get("class", "").split()]
    found += ["a box that keys cannot scroll"] * any("tabindex" not in own for own in boxes)
    links = [own[1].get("href", "") for own in page.all("a")]
    found += ["a link to nowhere"] * any(own[1:] not in ids for own in links if own.startswith("#"))
    external = [own for own in links if not own.startswith("#")]
    known = re.compile(r"https://(doi\.org/10\.|arxiv\.org/abs/)\S+")
    found += ["a link that is no reference"] * any(not known.fullmatch(own) for own in external)
    loaded = [own[1].get("src") or own[1].get("xlink:href") or "" for own in page.elements]
    loads = any(not own.startswith(("#", "data:")) for own in loaded if own)
    loads |= bool(page.all("link", "iframe", "object") or foreign_scripts(text)) or "@import" in text
    return found + ["an external resource"] * (loads or bool(re.search(r"url\((?!#)", text)))


def labels():
    data = models.simulators.labels(items=15, raters=10, categories=2, answers=4, random_seed=1).data
    law = np.random.default_rng(1).dirichlet([2.0, 2.0], (2, 15))
    coords = {"classifier": ["one", "two"], "item": data.items, "category": data.categories}
    predicted = xr.DataArray(law, coords, ("classifier", "item", "category"))
    return models.dawid_skene(data), data, {"predictions": predicted}


def scores():
    data = models.simulators.scores(items=12, raters=6, answers=4, random_seed=1).data
    return models.hierarchical_scores(data), data, {"thresholds": [0.0, 0.5]}


def comparisons():
    data = models.simulators.comparisons(items=6, raters=4, random_seed=1).data
    model = models.bradley_terry(data)
    return (
        model,
        data,
        {"model": model, "predictions": xr.DataArray(np.arange(6.0), {"item": data.items}, "item")},
    )


def rankings():
    data = models.published_ddx_cases()
    return models.plackett_luce(data, reliability=3), data, {}


KINDS = {"labels": labels, "scores": scores, "comparisons": comparisons, "rankings": rankings}


@pytest.fixture(scope="module", params=KINDS)
def made(request, tmp_path_factory):
    model, data, arguments = KINDS[request.param]()
    with pytest.warns(inference.ConvergenceWarning):
        tree = inference.sample(model, **SMALL)
    folder = tmp_path_factory.mktemp(request.param)
    report = reports.make(tree, annotations=data, out=folder, **arguments)
    return request.param, report, folder


def text_of(made):
    return (made[2] / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_pages_can_be_read_by_everyone(made):
    assert problems(text_of(made)) == []


def test_contents_list_the_sections(made, golden):
    text = text_of(made)
    titles = re.findall("<h2>(.*?)</h2>", text)
    assert re.findall("<a[^>]*>(.*?)</a>", text.split("<nav")[1].split("</nav>")[0]) == titles
    assert titles[-1] == "Glossary" and len(titles) > 6
    golden.says(titles[0])
    assert titles[1] == "Look up an item" and titles.index("Data") > titles.index("Convergence")


def test_every_item_can_be_looked_up(made):
    kind, report, folder = made
    data = data_of(text_of(made))["items-data"]
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").splitlines()]
    first = next(own for own in report.sections if own.key in ("leaderboard", "locations", "certainty"))
    assert sorted(own[0] for own in data["items"]) == sorted(row["item"] for row in first.rows)
    assert [own["item"] for own in lines] == [own[0] for own in data["items"]]
    said = {"comparisons": "votes"}.get(kind, "raters")
    given = int(re.search(r"([\d,]+) \w+\.$", report.summary)[1])
    total = sum(own.get("times", 1) for line in lines for own in line[said])
    assert total == given * (1 + (kind == "comparisons"))  # a vote is of two items
    assert all(isinstance(own["rater"], str) for line in lines for own in line[said])
    if kind in ("labels", "rankings"):
        name = {"labels": "probability"}.get(kind, "plausibility")
        sums = [sum(own[name] for own in line["plausibilities"]) for line in lines]
        np.testing.assert_allclose(sums, 1, atol=0.01)
    if kind in ("labels", "comparisons"):
        assert all("classifier" in own for line in lines for own in line["predictions"])


def test_raters_are_in_the_box(made):
    asked = {
        "labels": "Who can be trusted?",
        "scores": "Who is strict, who is lax?",
        "comparisons": "Which judges say nothing?",
    }
    box = text_of(made).split('class="box"')[1].split("</div>")[0]
    assert made[0] == "rankings" or f"<strong>{asked[made[0]]}</strong>" in box


def test_figures_are_in_the_colours_of_the_page(made):
    svg = "".join(re.findall("<svg.*?</svg>", text_of(made), re.DOTALL))
    fixed = set(re.findall(r"#[0-9a-f]{6}\b", " ".join(re.findall('style="([^"]*)"', svg))))
    assert not fixed & set(PAGE_COLOURS) and fixed <= {style.ON_DARK, style.ON_LIGHT}
    assert "var(--c0)" in svg and "<metadata" not in svg and "<style" not in svg


def test_every_rater_has_its_matrix_in_the_table(made, golden):
    kind, report, folder = made
    if kind != "labels":
        return
    section = next(own for own in report.sections if own.title == "Confusion matrices")
    golden.says(section.text, "least informative")
    rows = (folder / "confusion_matrices.csv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + 10 * 2 * 2
    golden.says(rows[0])
    drawn = [ax.get_title() for ax in section.figures[0].axes]
    ranked = [row["rater"] for own in report.sections if own.key == "raters" for row in own.rows]
    assert drawn == [*ranked[:4], *ranked[-4:]]


GOOD = (
    '<html lang="en"><title>t</title><h1>a</h1><h2 id="b">b</h2><a href="#b">b</a><table><th scope="col">x</th></table>'
    '<figure><svg role="img" aria-labelledby="n"><title id="n">n</title></svg><figcaption>c</figcaption></figure></html>'
)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (' lang="en"', ""),
        ('<h2 id="b">b</h2>', '<h3 id="b">b</h3>'),
        ("<h1>a</h1>", "<h1>a</h1><h1>b</h1>"),
        (' scope="col"', ""),
        ('<title id="n">n', '<title id="n">'),
        ("<figcaption>c</figcaption>", ""),
        ("<figcaption>c</figcaption>", "<figcaption>c: </figcaption>"),
        ('href="#b"', 'href="#c"'),
        ("<figure>", '<img src="https://x.org/a.png"><figure>'),
        ("<figure>", "<script>run()</script><figure>"),
        ("<table>", '<table id="b">'),
        ("<table>", '<table class="scroll">'),
    ],
)
def test_problems_would_be_seen(right, wrong, golden):
    assert problems(GOOD) == [] and right in GOOD
    golden.says(problems(GOOD.replace(right, wrong)))


def palettes():
    text = reports.page.__loader__.get_data(reports.page.__file__.replace(".py", ".html")).decode()
    light, dark = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    return [dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", own)) for own in (light, dark)]


def contrast(one, other):
    high, low = sorted((style.luminance(one), style.luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_contrasts_are_large_enough(mode):
    palette = palettes()[mode]
    assert set(palette) == set(palettes()[0])
    for text, grounds in TEXT_ON.items():
        assert min(contrast(palette[text], palette[own]) for own in grounds) >= 4.5, text
    for place in range(len(style.COLOURS)):
        assert contrast(palette[f"--c{place}"], palette["--paper"]) >= 3, place


def test_contrast_is_that_of_the_standard():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=1e-3)  # just too pale


def test_text_on_cells_can_be_read():
    for level in np.linspace(0, 1, 52):
        ground = (level, level, level)
        assert contrast(style.ink_on(ground), ground) >= 4.5
