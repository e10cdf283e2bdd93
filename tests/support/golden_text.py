"""Golden text: sentences for people in one plain file per test module, written by ``pytest --rewrite-golden``, read in review.

An entry is the identifier of a test, from its second text on with a number, and the text below it, indented.
"""

import re
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = [
    "FOLDER",
    "TESTS",
    "Golden",
    "file_of",
    "golden",
    "normalised",
    "owner_of",
    "parsed",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_pyfunc_call",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
    "sentence_about",
    "written",
]

TESTS = Path(__file__).parents[1]
FOLDER = TESTS / "golden" / "text"
REWRITES = pytest.StashKey()
BOOK = pytest.StashKey()
COLLECTED = pytest.StashKey()
INDENT = "    "
TEMPORARY = rf"{re.escape(tempfile.gettempdir())}/pytest-of-[^/]+/pytest-"
VARYING = {  # what differs from run to run, and from version to version of what is quoted
    rf"{TEMPORARY}\d+/(?:popen-gw\d+/)?[\w-]+": "<tmp>",
    rf"{TEMPORARY}[^\s']*\.\.\.[^\s']*": "<tmp>...",
    r"\b0x[0-9a-f]{6,}\b": "<address>",
    r"Usage: .*?\s+Error: ": "Error: ",
    r"[\d.,]+ GB are available": "<memory> are available",
    r"(that can be read|be split into cells) \(.*?\)(?=; remedy)": r"\1 (<quoted>)",
}

NUMBERS = re.compile(r"-?\d+\.\d+")  # that are fitted, and asserted apart


def file_of(module):
    """Return the golden file of a test module, given by its path below the folder of the tests."""
    return (FOLDER / module).with_name(Path(module).stem.removeprefix("test_") + ".txt")


def parsed(text):
    """Return the entries of a golden file: key -> text."""
    found = {}
    for line in text.split("\n"):
        if line and not line.startswith(INDENT):
            found[line] = lines = []
        elif found:
            lines.append(line.removeprefix(INDENT))
    return {key: "\n".join(lines).strip("\n") for key, lines in found.items()}


def written(entries):
    """Return the text of a golden file."""
    blocks = (
        "\n".join([key, *(INDENT + line if line else "" for line in entries[key].split("\n"))])
        for key in sorted(entries)
    )
    return "\n\n".join(blocks) + "\n"


def normalised(text):
    """Return a text without what differs from run to run: temporary folders, addresses, quoted errors."""
    text = str(text).replace(str(TESTS.parent), "<repository>")
    for pattern, words in VARYING.items():
        text = re.sub(pattern, words, text, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def sentence_about(text, *words):
    """Return the sentences, lines or elements of a page that have one of the words, each once."""
    parts = [part.strip() for part in re.split(r"(?<=[.?!])\s+|\n|<[^<>]*>", text)]
    for word in words:
        assert any(word in part for part in parts), f"nothing is said about {word!r} in:\n{text}"
    return "\n".join(dict.fromkeys(part for part in parts if any(word in part for word in words)))


class Golden:
    """Texts of one test, compared with its golden file, or recorded for it."""

    def __init__(self, item):
        self.module = str(item.path.relative_to(TESTS))
        self.key = item.nodeid.partition("::")[2]
        self.rewrites = item.config.getoption("rewrite_golden")
        file = file_of(self.module)
        known = parsed(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.known = {key: text for key, text in known.items() if owner_of(key) == self.key}
        self.said = {}

    def says(self, text, *about):
        """Compare a text, or what it says about these words, with the next entry; numbers with a point are ``#``."""
        __tracebackhide__ = True
        text = str(text)
        self._compare(NUMBERS.sub("#", sentence_about(text, *about) if about else text))

    def _compare(self, text):
        __tracebackhide__ = True
        key = self.key if not self.said else f"{self.key} ({len(self.said) + 1})"
        text = normalised(text)
        self.said[key] = text
        if self.rewrites:
            return
        if key not in self.known:
            pytest.fail(
                f"no golden text of {key!r}; `pytest --rewrite-golden tests/{self.module}` writes:\n{text}"
            )
        if text != self.known[key]:
            pytest.fail(
                f"not the golden text of {key!r}; if it should be, `pytest --rewrite-golden tests/{self.module}`\n"
                f"golden: {self.known[key]}\nsaid:   {text}"
            )

    @contextmanager
    def raises(self, *expected):
        """Context manager: an error of this type is raised and has the next text."""
        __tracebackhide__ = True
        with pytest.raises(*expected) as error:
            yield error
        self._compare(str(error.value))

    @contextmanager
    def warns(self, expected):
        """Context manager: warnings of this type are given, and their texts are the next text."""
        __tracebackhide__ = True
        with pytest.warns(expected) as warned:
            yield warned
        self._compare("\n".join(str(one.message) for one in warned if issubclass(one.category, expected)))

    def close(self):
        """Refuse entries that the test no longer has."""
        left = set(self.known) - set(self.said)
        if left and not self.rewrites:
            pytest.fail(
                f"golden texts that are not said: {sorted(left)}; `pytest --rewrite-golden` drops them"
            )


def owner_of(key):
    """Return the identifier of the test of an entry."""
    return re.sub(r" \(\d+\)$", "", key)


@pytest.fixture
def golden(request):
    """Golden text of the test."""
    request.node.stash[BOOK] = Golden(request.node)
    return request.node.stash[BOOK]


def pytest_addoption(parser):
    """Add the flag that writes golden files."""
    parser.addoption(
        "--rewrite-golden", action="store_true", help="write the golden texts of the tests that run"
    )


def pytest_configure(config):
    """Begin with nothing recorded."""
    config.stash[REWRITES], config.stash[COLLECTED] = {}, {}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Note the tests of each module that is collected whole, before any are deselected."""
    if not any("::" in argument for argument in config.args):
        for item in items:
            module = str(item.path.relative_to(TESTS)) if item.path.is_relative_to(TESTS) else None
            config.stash[COLLECTED].setdefault(module, set()).add(item.nodeid.partition("::")[2])


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Close the golden text of a test that has passed, and note it for the files."""
    result = yield
    book = pyfuncitem.stash.get(BOOK, None)
    if book is not None:
        book.close()
    if pyfuncitem.config.getoption("rewrite_golden") and pyfuncitem.path.is_relative_to(TESTS):
        module, key = str(pyfuncitem.path.relative_to(TESTS)), pyfuncitem.nodeid.partition("::")[2]
        pyfuncitem.config.stash[REWRITES].setdefault(module, {})[key] = {} if book is None else book.said
    return result


def pytest_sessionfinish(session):
    """Hand what a worker of xdist saw to the process that writes."""
    if hasattr(session.config, "workeroutput") and session.config.getoption("rewrite_golden"):
        found, collected = session.config.stash[REWRITES], session.config.stash[COLLECTED]
        session.config.workeroutput["golden"] = found, {m: sorted(keys) for m, keys in collected.items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Merge what a worker of xdist saw."""
    found, collected = getattr(node, "workeroutput", {}).get("golden", ({}, {}))
    for module, tests in found.items():
        node.config.stash[REWRITES].setdefault(module, {}).update(tests)
    node.config.stash[COLLECTED].update(collected)


def pytest_terminal_summary(terminalreporter, config):
    """Write golden files, and print which have changed."""
    if not config.getoption("rewrite_golden"):
        return
    run, collected = config.stash[REWRITES], config.stash[COLLECTED]
    for module in sorted({*run, *(module for module in collected if module)}):
        file, now = file_of(module), run.get(module, {})
        before = parsed(file.read_text(encoding="utf-8")) if file.exists() else {}
        there = collected.get(module)
        kept = {
            key: text
            for key, text in before.items()
            if owner_of(key) not in now and (there is None or owner_of(key) in there)
        }
        entries = kept | {key: text for said in now.values() for key, text in said.items()}
        if entries == before:
            continue
        terminalreporter.write_line(f"golden text rewritten: {file.relative_to(TESTS.parent)}")
        if entries:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(written(entries), encoding="utf-8")
        else:
            file.unlink()
