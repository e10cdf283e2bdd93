"""Terms are explained where a report uses them first, and the glossary has these only."""

import re

from raterzoo.reports import Section, write_report
from raterzoo.reports import page as reports_page

NAMES = [term.name for term in reports_page.terms()]


def page_of(folder, *texts):
    sections = [Section(f"Part {k}", text) for k, text in enumerate(texts)]
    return write_report(folder, "Title", "Summary.", sections).read_text("utf-8")


def test_terms_are_in_order_and_have_own_anchors():
    assert sorted(NAMES, key=str.lower) == NAMES
    assert len({term.anchor for term in reports_page.terms()}) == len(NAMES)
    assert all(term.meaning.endswith(".") and len(term.meaning) < 220 for term in reports_page.terms())


def test_terms_are_found_by_their_own_names():
    said = {
        "Alpha": "Krippendorff's alpha", "Confusion matrix": "a confusion matrix", "Power curve": "the power curve",
        "HMC, NUTS": "by nuts", "Cross-entropy, log loss": "log-loss", "Overlap": "overlap@3", "Scale": "The scale is",
        "Top-k accuracy": "top-3-accuracy", "z": "z = 1", "ABC combiner": "combined by abc",
    }  # fmt: skip
    for term in reports_page.terms():
        assert term.is_in(said.get(term.name, term.name)), term.name


def test_each_term_is_explained_where_it_is_first_used(tmp_path):
    page = page_of(tmp_path, "Nothing.", "Against IRN.", "IRN and R-hat.")
    parts = re.findall("<section.*?</section>", page, re.DOTALL)
    explained = [re.findall("<dfn>(.*?)</dfn>", part) for part in parts]
    assert explained == [[], ["IRN"], ["R-hat"], []]
    assert re.findall("<dt[^>]*>(.*?)</dt>", parts[-1]) == ["IRN", "R-hat"]


def test_words_inside_others_are_no_terms():
    assert reports_page.new_terms(["another irnic wordless certitude"], set()) == []


def test_a_page_without_terms_has_no_glossary(tmp_path):
    assert "Glossary" not in page_of(tmp_path, "Nothing.")


def test_identifiers_of_references_are_links(tmp_path):
    page = page_of(
        tmp_path, "Dawid 1979, doi:10.2307/2346806, and arXiv:2307.02191.", "10.1/x <doi:10.2307/2>"
    )
    assert '<a href="https://doi.org/10.2307/2346806">doi:10.2307/2346806</a>, and' in page
    assert '<a href="https://arxiv.org/abs/2307.02191">arXiv:2307.02191</a>.' in page
    assert "10.1/x &lt;<a" in page and page.count('href="https:') == 3
