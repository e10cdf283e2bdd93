"""Analysis of annotations: frames, facts and the answers to the questions of a kind, which page and terminal render."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from html import escape
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import xarray as xr
from jinja2 import Environment, PackageLoader, StrictUndefined

from ..._messages import escaped, way
from ...inference.diagnostics import diagnose
from ...posterior.errors import EvaluationError

if TYPE_CHECKING:
    import pandas as pd
    import pymc as pm


Grade = Literal["", "amber", "red"]
HEADING = re.compile(r"^==(amber|red|) ?(.+\?)$", re.MULTILINE)
WIDTH = 100
MORE = 4  # times as many draws are advised
ASKED = "draws_asked"  # attribute of a tree: draws of each chain asked for last; of very many raters fewer are kept


@dataclass(frozen=True)
class Answer:
    """Answer to a question that a reader comes with.

    Attributes
    ----------
    question : str
        Question, with its question mark.
    text : str
        Answer, in at most three sentences.
    grade : {"", "amber", "red"}
        Whether the numbers are sound, to be read with care, or not to be relied on.

    Examples
    --------
    >>> from raterzoo import reports
    >>> reports.Answer("Who wins?", "oak is the best of 3 with probability 83 %.").question
    'Who wins?'
    """

    question: str
    text: str
    grade: Grade = ""


@dataclass(frozen=True)
class Quantity:
    """Mean of a quantity with the ends of its 90 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Soundness:
    """Whether the draws and the model may be relied on."""

    converged: bool
    diverged: int  # draws of NUTS that left the path of the posterior
    draws: int  # of each chain, to try where these have not converged
    checks: int  # 0 if the model was not checked
    failed: int
    first_failure: str


CHECK_COLUMNS = ("observed", "lower", "upper", "tail_probability", "adjusted", "effect", "fails", "meaning")


@dataclass(frozen=True, eq=False)
class Analysis:
    """Analysis of annotations, as `raterzoo.analyse` returns it.

    Attributes
    ----------
    data : container
        The annotations.
    tree : DataTree
        The posterior.
    model : pymc.Model or None
        The fitted model.
    facts : dataclass
        Numbers of the answers.
    answers : list of Answer
        Answers to the questions of the kind of annotation; ``print(analysis)`` prints them.
    items, raters, checks, next, classifiers, agreement : pandas.DataFrame
        A row for each item, rater, check of the model, thing to ask next, classifier, and coefficient of agreement; without rows
        where there are none.

    Examples
    --------
    >>> import raterzoo
    >>> from raterzoo import models
    >>> votes = models.simulators.comparisons(items=4, raters=3, random_seed=1).data
    >>> analysis = raterzoo.analyse(votes, draws=250, chains=2, progressbar=False)
    >>> analysis.items["item"].tolist(), analysis.answers[0].question
    (['2', '1', '3', '0'], 'Who wins?')
    """

    kind: ClassVar[str]
    data: Any
    tree: xr.DataTree
    model: "pm.Model | None"
    compose: Callable[[Any], Any] | None = field(
        default=None, kw_only=True
    )  # makes the report with all sections

    @cached_property
    def facts(self) -> Any:
        """Numbers of the answers, a frozen dataclass."""
        raise NotImplementedError

    @property
    def page(self) -> Any:
        """The `reports.Report` with all sections."""
        assert self.compose is not None
        return self.compose(self)

    @cached_property
    def next(self) -> "pd.DataFrame":
        """What to ask next, the most informative first."""
        return table({})

    @cached_property
    def classifiers(self) -> "pd.DataFrame":
        """Classifiers and their metrics."""
        return table({})

    @cached_property
    def agreement(self) -> "pd.DataFrame":
        """Coefficients of agreement."""
        return table({})

    @cached_property
    def checked(self) -> "xr.Dataset | EvaluationError":
        """Checks of the model, or why there are none."""
        raise NotImplementedError

    @cached_property
    def checks(self) -> "pd.DataFrame":
        """Checks: observed number, range and tail probability that the model expects, whether it fails, and what that means."""
        found = self.checked
        if isinstance(found, EvaluationError):
            return table({name: [] for name in ("check", *CHECK_COLUMNS)})
        columns = {name: found[name].to_numpy() for name in CHECK_COLUMNS}
        return table({"check": found["check"].to_numpy().astype(str), **columns})

    @cached_property
    def sound(self) -> Soundness:
        """Whether the draws have converged, and which checks fail."""
        found = diagnose(self.tree)
        diverged = int(found["divergences"].sum()) if "divergences" in found else 0
        drawn = (
            bool(found.attrs["converged"]),
            diverged,
            MORE * int(self.tree.attrs.get(ASKED, found.attrs["draws"])),
        )
        if isinstance(self.checked, EvaluationError):
            return Soundness(*drawn, 0, 0, "")
        failed = int(self.checked["fails"].sum())
        first = str(self.checked.attrs["sentences"][0]) if failed else ""
        return Soundness(*drawn, self.checked.sizes["check"], failed, first)

    @cached_property
    def answers(self) -> list[Answer]:
        """Answers to the questions of the kind of annotation."""
        return answers_of(self.kind, asdict(self.facts))

    def __str__(self) -> str:
        """Return the answers as text, a paragraph each."""
        return "\n".join(
            fill(
                printable(answer),
                WIDTH,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for answer in self.answers
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the answers for a notebook."""
        lines = (f"<dt><b>{escape(own.question)}</b></dt><dd>{escape(own.text)}</dd>" for own in self.answers)
        return f"<dl>{''.join(lines)}</dl>"

    def write(self, folder: Path | str, *, keep: str | None = None) -> Path:
        """Write page, tables and posterior to a folder, as `reports.Report.write`; return the page."""
        return self.page.write(folder, keep=keep)

    def report(self, path: Path | str) -> Path:
        """Write the page alone, as one file that needs no other; return its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.page.text, encoding="utf-8")
        return path


def table(columns: Mapping[str, Any]) -> "pd.DataFrame":
    """Return a frame; pandas is imported when one is asked for."""
    import pandas as pd

    return pd.DataFrame(columns)


def printable(answer: Answer) -> str:
    """Return an answer as a line of text."""
    return escaped(f"{answer.question} {answer.text}".lstrip())


def answers_of(template: str, facts: Mapping[str, Any]) -> list[Answer]:
    """Return the answers that a template of ``reports/text`` makes of facts; an empty one is left out.

    Each begins with a line ``==GRADE question?``, without a grade where the numbers are sound.
    """
    _, *parts = HEADING.split(_environment().get_template(f"{template}.j2").render(facts))
    found = zip(parts[::3], parts[1::3], (" ".join(own.split()) for own in parts[2::3]), strict=True)
    return [Answer(question, text, cast(Grade, grade)) for grade, question, text in found if text]


@cache
def _environment() -> Environment:
    """Return the environment of the templates, with filters for numbers and names."""
    loader = PackageLoader("raterzoo.reports", "text")
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals["way"] = way
    environment.filters |= {
        "sure": lambda p: "over 99 %" if p > 0.99 else "under 1 %" if p < 0.01 else f"{100 * p:.0f} %",
        "n": lambda number: f"{number:,}",
        "dec": lambda number: f"{number:z.2f}",
        "points": lambda share: f"{100 * share:+z.0f}",
        "share": lambda share: f"{100 * share:.0f} %",
        "span": lambda ends: f"{100 * ends[0]:.0f} to {100 * ends[1]:.0f} %",
        "names": names,
        "figure": lambda number, metric: f"{100 * number:.0f} %" if "accuracy" in metric else f"{number:.2f}",
        "figures": lambda ends, metric: (
            f"{100 * ends[0]:.0f} to {100 * ends[1]:.0f} %"
            if "accuracy" in metric
            else f"{ends[0]:.2f} to {ends[1]:.2f}"
        ),
    }
    return environment


def names(own: Sequence[object], shown: int = 3, noun: str = "") -> str:
    """List the first names: "a, b and c", or "a, b and 3 more"; names that are numbers with what they are: "raters 1 and 2"."""
    texts = [str(name) for name in own]
    numbered = noun and all(text.isdecimal() for text in texts)
    what = f"{noun}{'s' if len(texts) > 1 else ''} " if numbered else ""
    if len(texts) > shown:
        texts = [*texts[: shown - 1], f"{len(texts) - shown + 1:,} more"]
    return what + (texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}")
