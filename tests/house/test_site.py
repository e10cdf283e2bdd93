"""The site has every public name once, and an example of every plot; read from the sources and the catalog."""

import re
import runpy
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("models", "inference", "evaluation", "papers", "reports", "cli")
EXPORT = re.compile(r"^from (\S+) import (?:\(\s+)?(\w+) as (\w+),?$", re.MULTILINE)
STUDIES = (  # words of the chooser that describe a study, and the model to take; .ci/site looks for the clicks in the built pages
    ("a crowd with spammers", "mace"),
    ("raters with few answers each", "one_coin"),
    ("people beside language models", "shared_guess"),
    ("people beside language models", "bradley_terry"),
    ("people beside language models", "hierarchical_scores"),
    ("a leaderboard, with or without ties", "bradley_terry"),
    ("differential diagnoses", "plackett_luce"),
    ("low, middle, high", "ordinal"),
    ("such as 1 to 5", "ordinal"),
    ("one answer an item", "dawid_skene"),
    ("few scores an item", "hierarchical_scores"),
    ("strict or lax", "hierarchical_scores"),
)
PROGRAMS = {  # of the pictures that are kept; the others are drawn when the site is built
    "docs/certainty.png": "docs/_extensions/pictures.py",
    "docs/linear_cost.svg": "benchmarks/size.py",
    "docs/quite.svg": "benchmarks/quite.py",
    "docs/papers": "benchmarks/papers/__main__.py",
    "docs/out_of_core.svg": "benchmarks/out_of_core.py",
    "docs/models": "docs/_extensions/model_examples.py",
    "evidence/figures": "evidence/page.py",
}
LISTED = re.compile(r"^\.\. currentmodule:: (\S+)$|^   (\w+)$", re.MULTILINE)


def public_names():
    """Return {origin of a public object: its shortest public name}; packages that are exported are none."""
    names = {}
    stubs = [ROOT / "__init__.pyi"]
    stubs += [p for package in PACKAGES for p in (ROOT / package).rglob("__init__.pyi")]
    for stub in sorted(stubs, key=lambda p: len(p.parts)):
        package = ".".join(("raterzoo", *stub.parent.relative_to(ROOT).parts))
        for module, name, _ in EXPORT.findall(stub.read_text()):
            if module != ".":
                names.setdefault((package + module, name), f"{package}.{name}")
    return set(names.values())


def listed_names(pages):
    """Return the names that pages of the reference list, with their packages."""
    names = []
    for page in pages:
        package = ""
        for module, name in LISTED.findall(page):
            package = module or package
            if name:
                names.append(f"{package}.{name}")
    return names


def reference():
    written = [page.read_text() for page in (DOCS / "reference").glob("*.rst") if page.stem != "index"]
    return [*written, runpy.run_path(str(DOCS / "_extensions" / "facts.py"))["page_of_models"]()]


def test_each_public_name_is_once_in_the_reference():
    public, listed = public_names(), Counter(listed_names(reference()))
    assert len(public) > 100
    assert public == set(listed), public ^ set(listed)
    assert set(listed.values()) == {1}, [name for name, times in listed.items() if times > 1]


def test_a_name_left_out_or_twice_is_found():
    pages = [page.replace("   dawid_skene\n", "") for page in reference()]
    assert public_names() - set(listed_names(pages)) == {"raterzoo.models.dawid_skene"}
    assert Counter(listed_names(reference() + pages))["raterzoo.models.one_coin"] == 2


def plots_shown(examples):
    """Return the plots that examples of the gallery end with."""
    return [re.findall(r"^plots\.(\w+)\(", text, re.MULTILINE)[-1] for text in examples]


def test_each_plot_has_an_example_in_the_gallery():
    public = {
        name.rpartition(".")[2] for name in public_names() if name.startswith("raterzoo.evaluation.plots.")
    }
    examples = {path: path.read_text() for path in (DOCS / "gallery").rglob("plot_*.py")}
    assert sorted(plots_shown(examples.values())) == sorted(public)
    for path, text in examples.items():
        assert plots_shown([text]) == [path.stem.removeprefix("plot_")]
        assert len(text.partition("import")[2].splitlines()) <= 20, path
    assert plots_shown(["plots.simplex(tree)\n"]) == ["simplex"]


def without_program(pictures, programs):
    """Return the pictures that no program writes, by the paths of pictures and of folders of them."""
    return [own for own in pictures if not {own, own.rpartition("/")[0]} & set(programs)]


def test_each_picture_that_is_kept_is_made_by_a_program():
    found = [path for folder in ("docs", "evidence") for path in (ROOT / folder).rglob("*.*g")]
    names = [path.relative_to(ROOT).as_posix() for path in found if path.suffix in {".png", ".svg", ".jpg"}]
    built = tuple(f"docs/{folder}/" for folder in ("_build", "generated", "jupyter_execute"))
    kept = [name for name in names if not name.startswith(built)]
    assert len(kept) > 20 and without_program(kept, PROGRAMS) == []
    assert without_program(["docs/by_hand.png", "docs/certainty.png"], PROGRAMS) == ["docs/by_hand.png"]
    for picture, program in PROGRAMS.items():
        assert f'"{picture.rpartition("/")[2]}"' in (ROOT / program).read_text(), picture
