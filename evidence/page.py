"""Evidence page: verdicts of every model and method with a figure of the ranks, and the wrong twins."""

import html
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from tests.support.monte_carlo import ecdf_band

from . import records
from .calibration import deviation
from .chains import KEPT
from .power import PAIRS
from .records import read, read_ranks
from .studies import FEW_DATA, STUDIES, methods_of
from .tasks import Task, kinds_of
from .twins import Kind

__all__ = ["write_page"]

HIGHLIGHT, OTHERS, BAND = "#b2182b", "#8c8c8c", "#d9e6f2"
KINDS: tuple[Kind, ...] = ("calibration", "invariance", "joint", "few data", "closed form")
WEAK = 0.1  # larger doses of shapes and concentrations are in bold
INTRODUCTION = """# Evidence

Every sampler of every model of the catalog, tested on small designs whose data are simulated from the model itself. Made by

    python -m evidence

which runs all of it, over processes (`--cores`), and is done before a release. A task with a record of the commit and the
versions at hand is not run again, so that a run can be stopped and started again. `--only NAME` runs some tasks, and `--page`
draws this page alone. `--quick`, which continuous integration runs, takes a few tasks of every kind (or those of `--only`) with
a tenth of the simulations, and writes nothing.

- **calibration** (Talts et al. 2018): truths from the prior are ranked among 99 draws of their posterior. Shown is how far the
  ECDF of the ranks strays, in widths of the simultaneous 99 % band (Säilynoja et al. 2022), Bonferroni over all quantities: below
  1 it is inside. As one right sampler in 100 is outside, a calibration between 1 and 1.5 is repeated with four times as many
  other simulations, whose verdict stands. Own samplers run as `inference.sample` runs them, and three simulations of each are
  drawn by it once more, to the same bits; NUTS is nutpie's, compiled once. Exact draws are of 1,000 items by `inference.sample`
  itself.
- **invariance**: parameters and data from the joint law, three transitions, and the parameters must have the prior's law still.
  Largest |z| of means of all quantities, of products of two, and of the scores of the priors (the derivatives of the log prior by
  its parameters, whose means are zero), and its bound at a false alarm of 1 in 10,000. There is no warm-up that could hide
  anything. NUTS is PyMC's with fixed step and metric.
- **joint** (Geweke 2004): chains that alternate transitions with new data, started from the joint law, keep it. NUTS is left out:
  the test of invariance moves it from the same law.
- **few data**: invariance once more, of the scores of the priors alone, on designs with few data and weak priors, on which an
  error in a prior or a shape has the largest effect. For Gibbs samplers.
- **closed form**: 4,000 draws of five items against the textbook's law (Kolmogorov-Smirnov, and means of its scores), and items,
  chains and successive draws against each other (correlations). It takes the place of the other two for exact draws, which make
  no transitions.

The last number of a cell is that of simulations, pairs or chains.
"""
POWER_TEXT = """
## Power

The smallest dose of each parameter of a prior that the evidence catches with probability .9: the error of the prior under which
a sampler draws that moves the score of the parameter so far beyond the bound. It is computed to first order from the transitions
of the right sampler (`prior_scores.py`), so that doses of a half and more are rough. The smallest of all kinds of evidence with
scores is shown. Doses of shapes and concentrations are added; those of scales, rates and standard
deviations are shares of them; those of means are shares of a standard deviation. The "first" of two shapes is that of successes,
and the first concentration is that of the first category alone. In bold: shapes and concentrations of which a dose of .1 is
caught with a smaller probability. Calibration and joint tests also have power against bugs that are no dose of a prior; of those
the twins below are examples.

| model | method | shapes and concentrations | scales, rates and standard deviations | means |
|---|---|---|---|---|
"""
TWINS = """
## Wrong twins

One bug each, seeded into a line of source, a prior or the data that the sampler is told; the evidence named must reject it. The
simulated data and the bounds are those of the right sampler.

"""
PLACEBOS = """
## Placebos

Twins that compute the same in other words, made and run by the same machinery; the evidence named must not reject them.

"""
HEAD_OF_TWINS = """| study | method | {} | {} | statistic | bound | outcome |
|---|---|---|---|---|---|---|
"""


def write_page(tasks: list[Task]) -> bool:
    """Write figures and page from the records; tell whether every verdict is there and good.

    Parameters
    ----------
    tasks : list of Task
        All.

    Returns
    -------
    bool
        Whether the evidence is complete.
    """
    found = {task: read(task) for task in tasks}
    evidence = [task for task in tasks if task.twin is None]
    wrong = [task for task in tasks if task.is_wrong]
    placebos = [task for task in tasks if task.twin is not None and not task.is_wrong]
    for task in evidence:
        if found[task] and task.kind == "calibration":
            _draw(task)
    samplers = [(name, method) for name in STUDIES for method in methods_of(name)]
    columns = (*KINDS, "CPU s", "verdict")
    head = f"| model | method | {' | '.join(columns)} |\n" + "|---" * (len(columns) + 2) + "|\n"
    text = INTRODUCTION + _summary(found, (evidence, wrong, placebos)) + head
    text += "".join(_row(name, method, found) for name, method in samplers)
    text += POWER_TEXT + "".join(_doses(name, method, found) for name, method in samplers)
    text += "".join(_repeated(task, found[task]) for task in evidence if task.kind == "power")
    text += TWINS + HEAD_OF_TWINS.format("bug", "caught by")
    text += "".join(_twin(task, found[task], "caught", "**MISSED**") for task in wrong)
    text += PLACEBOS + HEAD_OF_TWINS.format("change", "tested by")
    text += "".join(_twin(task, found[task], "not caught", "**CAUGHT**") for task in placebos)
    text += _designs()
    records.FOLDER.mkdir(exist_ok=True)
    (records.FOLDER / "README.md").write_text(text)
    return all(record and record["passed"] for record in found.values())


def _draw(task: Task) -> None:
    folder = records.FOLDER / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    ranks, names = read_ranks(task)
    title = f"{task.study} by {task.method}, {len(ranks):,} simulations"
    draw_ecdf(ranks, names, title, folder / f"{task.study}.{task.method}.png")


def _summary(found: dict[Task, Any], groups: tuple[list[Task], list[Task], list[Task]]) -> str:
    evidence, wrong, placebos = groups
    good, caught, spared = (sum(bool(found[t] and found[t]["passed"]) for t in some) for some in groups)
    bad = [t for t in evidence if found[t] and not found[t]["passed"]]
    missing = [t for t in found if not found[t]]
    hours = sum(found[t]["cpu_seconds"] for t in found if found[t]) / 3600
    lines = [
        f"\n{good} of {len(evidence)} verdicts are good, {caught} of {len(wrong)} wrong twins are caught, "
        f"{spared} of {len(placebos)} placebos are not; {hours:.1f} CPU hours.\n"
    ]
    for words, some in (("Bad", bad), ("Missing", missing)):
        if some:
            lines.append(f"\n{words}: " + ", ".join(f"`{t.name}`" for t in some) + ".\n")
    return "".join([*lines, *_origins(found)]) + "\n"


def _origins(found: dict[Task, Any]) -> list[str]:
    """Return a sentence for each commit and its versions; all but that of most records list the records."""
    groups: dict[tuple[str, str], list[Task]] = {}
    for task, record in found.items():
        if record:
            versions = [f"{name} {number}" for name, number in record["versions"].items() if name != "nutpie"]
            groups.setdefault((record["commit"], ", ".join(versions)), []).append(task)
    lines, listed = [], ""
    for (commit, versions), tasks in sorted(groups.items(), key=lambda group: -len(group[1])):
        nutpie = sorted({v for task in tasks if (v := found[task]["versions"].get("nutpie"))})
        said = ", ".join([versions, *(f"nutpie {number}" for number in nutpie)])
        lines.append(
            f"\nOf commit `{commit}`, with {said}{listed and listed + ', '.join(f'`{t.name}`' for t in tasks)}.\n"
        )
        listed = ": "
    return lines


def _row(name: str, method: str, found: dict[Task, Any]) -> str:
    own = {t.kind: record for t, record in found.items() if (t.study, t.method, t.twin) == (name, method, None)}  # fmt: skip
    cells = [_cell(kind, own, name, method) for kind in KINDS]
    there = [own.get(kind) for kind in kinds_of(method)]
    seconds = sum(record["cpu_seconds"] for record in there if record)
    good = all(record and record["passed"] for record in there)
    verdict = "good" if good else "**missing**" if None in there else "**BAD**"
    return f"| {name} | {method} | " + " | ".join(cells) + f" | {seconds:,.0f} | {verdict} |\n"


def _cell(kind: Kind, own: dict[str, Any], name: str, method: str) -> str:
    if kind not in kinds_of(method):
        return "does not apply"
    record = own.get(kind)
    if record is None:
        return "missing"
    said = f"{record['statistic']:.2f} of {record['threshold']:.2f}"
    if kind != "closed form":  # one posterior, of five items
        said += f", {record['simulations']:,}"
    if not record["passed"]:
        said = f"**{said}, {html.escape(record['worst'])}**"
    if kind == "calibration":
        said = f"[{said}](figures/{name}.{method}.png)"
        if record["notes"].get("equals inference.sample") is False:
            said += " **differs from `inference.sample`**"
        if divergent := record["notes"].get("divergences in a thousand"):
            said += f"; {divergent:.1f} ‰ divergent"
    return said


def _doses(name: str, method: str, found: dict[Task, Any]) -> str:
    """Return the row of the smallest doses of a sampler, over all kinds of evidence that know them."""
    smallest: dict[str, float] = {}
    for task, record in found.items():
        if record and (task.study, task.method, task.twin) == (name, method, None):
            for parameter, dose in record["notes"].get("doses", {}).items():
                smallest[parameter] = min(dose, smallest.get(parameter, np.inf))
    cells = {"mean": [], "share": [], "added": []}
    for parameter, dose in smallest.items():
        first = parameter.partition(" ")[0]
        unit = "mean" if first == "mean" else "share" if first in ("sd", "scale", "rate") else "added"
        said = f"{parameter} {f'{100 * dose:.1f} %' if unit == 'share' else f'{dose:.3f}'}"
        cells[unit].append(f"**{said}**" if unit == "added" and dose > WEAK else said)
    added, share, mean = (", ".join(cells[unit]) for unit in ("added", "share", "mean"))
    return f"| {name} | {method} | {added} | {share} | {mean} |\n"


def _repeated(task: Task, record: Any) -> str:
    """Return a sentence on the repetitions of a test at the smallest dose."""
    if record is None:
        return f"\nMissing: repetitions of {task.study}.\n"
    notes, off = record["notes"], "" if record["passed"] else ", **far from .9**"
    return (
        f"\nChecked by repetition: for {task.study} by {task.method}, {PAIRS:,} pairs of few data should catch a dose of "
        f"{notes['dose']:.3f} of the {record['worst']} with probability .9. A sampler that was told this prior was caught in "
        f"{notes['caught']} of {record['simulations']} repetitions{off}.\n"
    )


def _twin(task: Task, record: Any, passed: str, failed: str) -> str:
    bug = task.bug.bug if task.bug else ""
    start = f"| {task.study} | {task.method} | {bug} | {task.kind} |"
    if record is None:
        return f"{start} | | **missing** |\n"
    statistic = "infinite" if record["statistic"] >= 1e9 else f"{record['statistic']:.2f}"
    return f"{start} {statistic} | {record['threshold']:.2f} | {passed if record['passed'] else failed} |\n"


def _designs() -> str:
    rows = [
        f"| {s.name} | {s.design} | {FEW_DATA[s.name].design if s.name in FEW_DATA else 'does not apply'} |\n"
        for s in STUDIES.values()
    ]
    return "\n## Designs\n\n| model | design | few data |\n|---|---|---|\n" + "".join(rows)


def draw_ecdf(ranks: np.ndarray, names: list[str], title: str, path: Path) -> None:
    """Draw the centred ECDF of the ranks of every quantity; the one with the largest deviation is coloured and named.

    Parameters
    ----------
    ranks : ndarray of int, shape (simulation, quantity)
        Ranks 0 ... KEPT.
    names : list of str
        Of the quantities.
    title : str
        Of the figure.
    path : Path
        Of the PNG file.
    """
    n, x = len(ranks), np.arange(1, KEPT + 1) / (KEPT + 1)
    lower, upper = ecdf_band(n, KEPT, 1 - 0.01 / ranks.shape[1])
    at_most = (ranks[..., None] <= np.arange(KEPT)).sum(axis=0) / n
    worst = int(deviation(ranks).argmax())
    with matplotlib.rc_context({"font.size": 8}):
        figure = Figure(figsize=(4.6, 2.6), dpi=90, layout="constrained")
        axes = figure.subplots()
        axes.fill_between(x, lower / n - x, upper / n - x, step="post", color=BAND, linewidth=0)
        for q in [*(q for q in range(len(names)) if q != worst), worst]:
            chosen = {"color": HIGHLIGHT, "linewidth": 1.4, "label": names[q]}
            plain = {"color": OTHERS, "linewidth": 0.6}
            axes.step(x, at_most[q] - x, where="post", **(chosen if q == worst else plain))
        axes.axhline(0, color="black", linewidth=0.5)
        axes.set(xlim=(0, 1), xlabel="rank of the truth, as a share", ylabel="ECDF less expected")
        axes.set_title(title, loc="left")
        axes.legend(loc="upper right", frameon=False)
        figure.savefig(path, metadata={"Software": None})
