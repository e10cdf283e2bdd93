"""In a browser: tables of the page are sorted and filtered, and items are looked up, by keys and for screen readers."""

import json
import re

import numpy as np
import pytest
from raterzoo.reports import Section, items

from tests.reports.test_content_policy import BROWSER, shown
from tests.reports.test_hostile_labels import HOSTILE
from tests.support.report_parts import page_text

VALUES = [1234.5, None, -2.0, 10.0, 0.25, 3.0, 100.0]
IDS = ["case 1", "case 2", "case 10", "other", *HOSTILE[:3]]
FURTHER = [f"further {k}" for k in range(1, 10)]
DRIVER = """
const found = {};
const text = selector => document.querySelector(selector).textContent;
const cells = column => [...document.querySelectorAll("#part tbody tr")].map(row => row.cells[column].textContent);
const heads = [...document.querySelectorAll("#part th")];
const typed = (input, text) => { input.value = text; input.dispatchEvent(new Event("input")); };
const filter = document.querySelector("#part input");
const id = document.querySelector("#item-id");
const status = "#items [role=status]";
const offered = () => [...document.querySelectorAll("#items li")].map(own => own.textContent);
found.start = [cells(0), text("#part [role=status]")];
found.name = filter.labels[0].textContent;
heads[1].firstChild.click();
found.up = [cells(1), heads[1].getAttribute("aria-sort"), text("#part [role=status]")];
heads[1].firstChild.click();
found.down = [cells(1), heads[1].getAttribute("aria-sort")];
heads[1].firstChild.click();
found.back = [cells(0), heads[1].getAttribute("aria-sort")];
heads[0].firstChild.click();
found.names = cells(0);
typed(filter, "CASE");
found.filtered = [cells(0), text("#part [role=status]")];
typed(filter, "");
document.querySelectorAll("#part .controls button").forEach(own => own.click());
found.more = [cells(0).length, text("#part [role=status]")];
typed(id, "case 1");
found.exact = [text(status), offered(), text("#items h3"), text("#items dl")];
found.tables = [...document.querySelectorAll("#items td")].map(own => own.textContent);
typed(id, "case");
found.inside = [text(status), offered()];
typed(id, "further");
found.many = [text(status), offered()];
typed(id, "cse 2");
found.near = [text(status), offered()[0]];
typed(id, %s);
found.hostile = [text("#items h3"), document.querySelectorAll("#items img, #items script").length];
document.querySelector("#items form").requestSubmit();
found.focus = document.activeElement === document.querySelector("#items h3");
location.hash = "#item=other";
setTimeout(() => {
  found.linked = text("#items h3");
  document.body.append(Object.assign(document.createElement("pre"), { id: "found", textContent: JSON.stringify(found) }));
}, 100);
"""


def page():
    n = len(IDS)
    ids = [*IDS, *FURTHER]
    facts = [{"item": item, "certainty": k / len(ids)} for k, item in enumerate(ids)]
    table = items.ItemTable.of(
        "raters", "Said", np.arange(n), len(ids), {"rater": HOSTILE[:n], "label": [*"abcdefg"]}
    )
    rows = [{"item": item, "value": value} for item, value in zip(IDS, VALUES, strict=True)]
    section = Section("Part", rows=rows, file="part", most=3)
    return page_text("T", "S", [section], [], items.Items(facts, "the least certain first", ids, [table]))


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_tables_and_items_answer(tmp_path):
    # the driver is a script that the policy would stop
    bare = re.sub("<meta http-equiv[^>]*>", "", page())
    driver = DRIVER % json.dumps(HOSTILE[1]).replace("</", "<\\/")
    said, document, _ = shown(tmp_path, bare.replace("</body>", f"<script>{driver}</script></body>"), "light")
    assert not said, said
    found = json.loads(
        re.search('<pre id="found">(.*?)</pre>', document, re.DOTALL)[1]
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
    )
    assert found["start"] == [IDS[:3], "3 of 7 rows."]
    assert found["name"] == "Filter the rows of Part"
    assert found["up"] == [["-2.000", "0.250", "3.000"], "ascending", "3 of 7 rows, by value, ascending."]
    assert found["down"] == [["1,234", "100", "10.0"], "descending"]  # the empty one is last in both
    assert found["back"] == [IDS[:3], None]
    assert found["filtered"] == [["case 1", "case 2", "case 10"], "3 rows with “CASE”, by item, ascending."]
    assert found["more"] == [7, "7 rows, by item, ascending."]
    status, offered, heading, facts = found["exact"]
    assert status == "Item case 1: certainty 0.000. 1 more contains “case 1”:" and offered == ["case 10"]
    assert heading == "Item case 1" and facts == "certainty0.000"
    assert found["tables"] == [HOSTILE[0], "a"]
    assert found["inside"] == ["No item “case”. 3 contain it:", IDS[:3]]
    assert found["many"] == ["No item “further”. 9 contain it, such as:", FURTHER[:8]]
    assert found["near"] == ["No item “cse 2”. The nearest ids:", "case 2"]
    assert found["hostile"] == [f"Item {HOSTILE[1]}", 0] and found["focus"]
    assert found["linked"] == "Item other"
