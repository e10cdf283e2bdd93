"""The page's content security policy lets its own styles, pictures and script through, in light and dark, and no other."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from raterzoo.reports import Section

from tests.support.pages import foreign_scripts
from tests.support.report_parts import page_text

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
SCHEMES = {"dark": 0, "light": 1}
INJECTED = (
    "<script>document.body.className = 'run'</script><img src=x onerror=\"document.body.className = 'run'\">"
)


def page():
    figure = Figure()
    axes = figure.add_subplot()
    axes.imshow(np.eye(3))  # a picture inside the figure
    axes.set_title("flu")
    rows = [{"item": "flu", "n": 1.0}]
    return page_text("Title", "Summary.", [Section("Part", "Text.", [figure], rows, "t")], ["Box."])


def policy_of(text):
    return re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)


def shown(folder, text, scheme):
    """Return what the browser says of a page, its document, and the colour of the corner."""
    path, picture = folder / "page.html", folder / "page.png"
    path.write_text(text, encoding="utf-8")
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=2000",
        "--enable-logging=stderr",
    ]
    options += [
        f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
    ]
    options += ["--window-size=400,300", f"--screenshot={picture}", "--dump-dom"]
    done = subprocess.run(
        [BROWSER, *options, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return said, done.stdout, np.round(imread(picture)[-1, 2, :3] * 255)  # fmt: skip


def test_the_policy_is_of_this_page():
    (policy,) = policy_of(page())
    assert policy.startswith("default-src 'none'; style-src")
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["img-src"] == "data:" and parts["base-uri"] == parts["form-action"] == "'none'"
    assert not {"connect-src", "font-src"} & set(parts)  # those of default-src
    assert parts["script-src"].startswith("'sha256-") and not foreign_scripts(page())
    assert "unsafe" not in policy.replace("style-src-attr 'unsafe-inline'", "")
    assert page().index("http-equiv") < page().index("<style>")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_a_browser_blocks_nothing_of_the_page_and_every_other_script(tmp_path):
    text = page()
    for scheme, corner in {"dark": (0x17, 0x19, 0x1C), "light": (255, 255, 255)}.items():
        said, _, colour = shown(tmp_path, text, scheme)
        assert not said, said
        assert tuple(colour) == corner  # the style sheet is there
    said, document, _ = shown(tmp_path, text.replace("</main>", f"{INJECTED}</main>"), "light")
    assert sum("Content Security Policy" in line for line in said) >= 2
    assert 'class="run"' not in document
    bare = re.sub("<meta http-equiv[^>]*>", "", text.replace("</main>", f"{INJECTED}</main>"))
    assert 'class="run"' in shown(tmp_path, bare, "light")[1]  # the policy is what stops it
    said, _, _ = shown(tmp_path, text.replace("margin: 2.5rem", "margin: 3rem"), "dark")
    assert any("style" in line for line in said)  # a style sheet that is not the page's own
    said, document, _ = shown(tmp_path, text.replace('"use strict"', '"use  strict"'), "dark")
    assert any("script" in line for line in said) and "<button" not in document  # nor a script
