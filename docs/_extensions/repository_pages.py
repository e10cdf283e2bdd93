"""Pages of the repository that lie outside of docs/ (evidence, benchmarks, changelog, notebooks) as pages of the site.

They are copied to docs/generated before Sphinx looks for pages. In all pages, links between files of the repository are
turned into links between pages of the site, so that the same link works in an editor and on the site.
"""

import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = DOCS / "generated"
PAGES = {
    "evidence/README.md": "evidence",
    "evidence/posteriors/README.md": "reference_posteriors",
    "benchmarks/README.md": "benchmarks",
    "benchmarks/quite.md": "benchmark_of_quite",
    "benchmarks/mutations.md": "mutations",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    ".github/CODE_OF_CONDUCT.md": "code_of_conduct",
    ".github/SECURITY.md": "security",
}
PAGES = {path: f"docs/generated/{name}.md" for path, name in PAGES.items()} | {
    f"notebooks/{path.name}": f"docs/generated/notebooks/{path.name}"
    for path in (ROOT / "notebooks").glob("*.ipynb")
}  # file of the repository -> page of the site
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^()\s#]+)(?=[#)])")


def relative(target, folder):
    """Return the path of a file of the repository as seen from one of its folders."""
    return PurePosixPath(target).relative_to(folder, walk_up=True).as_posix()


def with_links(text, origin, page):
    """Rewrite the links of a Markdown file of the repository for the place of its page."""

    def rewritten(link):
        path = ROOT / Path(origin).parent / link[1]
        if not path.exists():
            return link[1]
        target = path.resolve().relative_to(ROOT.resolve()).as_posix()
        return relative(PAGES.get(target, target), PurePosixPath(page).parent)

    return LINK.sub(rewritten, text)


def copy_pages(app, config):
    """Write the pages that come from outside of docs/, those that have changed."""
    for origin, name in PAGES.items():
        page = ROOT / name
        page.parent.mkdir(parents=True, exist_ok=True)
        text = with_links((ROOT / origin).read_text(), origin, name)
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def link_pages(app, name, content):
    """Rewrite the links of a page in docs/ that lead out of it."""
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md" and path.parent != GENERATED:
        origin = path.resolve().relative_to(ROOT.resolve()).as_posix()
        content[0] = with_links(content[0], origin, origin)


def setup(app):
    """Register the two steps."""
    app.connect("config-inited", copy_pages)
    app.connect("source-read", link_pages)
    return {"parallel_read_safe": True}
