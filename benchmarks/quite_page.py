"""The page of `quite_cells`: its tables, and what the paper says beside what was found."""

from typing import NamedTuple

import numpy as np
from scipy.stats import beta, binomtest

BTL, THURSTONE = "bradley_terry", "thurstone"
NAMES = {BTL: "BTL", THURSTONE: "Thurstone"}
LISTED = {
    (BTL, 40, 0.1): 2.4, (BTL, 40, 0.5): 1.5, (BTL, 40, 1.0): 1.5,
    (BTL, 100, 0.1): 1.8, (BTL, 100, 0.5): 1.6, (BTL, 100, 1.0): 1.6, (BTL, 200, 0.1): 1.8, (BTL, 400, 0.1): 1.5,
    (THURSTONE, 40, 0.1): 3.7, (THURSTONE, 40, 0.5): 1.9, (THURSTONE, 40, 1.0): 1.9,
    (THURSTONE, 100, 0.1): 2.2, (THURSTONE, 100, 0.5): 1.8, (THURSTONE, 100, 1.0): 2.0,
}  # fmt: skip
"""Centred error over centred bound that the default reading has to keep."""

ROUNDING = 0.05  # of a listed figure
EPSILONS = (0.02, 0.04, 0.06)


class Cell(NamedTuple):
    """One design: what is asked of it, and how it is simulated."""

    kind: str
    link: str
    items: int
    alpha: float
    degree: int = 20


def mean_and_error(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def bound_table(results: dict[Cell, list[dict]]) -> list[str]:
    lines = [
        "| link | N | alpha | default, centred | listed | frozen, centred | default / frozen, paper's form "
        "| iterations | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, found in results.items():
        if cell.kind != "bound":
            continue
        mean = {name: mean_and_error([f[name] for f in found]) for name in found[0]}
        own, error = mean["default centred"]
        listed = LISTED.get((cell.link, cell.items, cell.alpha))
        verdict = (
            ""
            if listed is None
            else f"{listed} " + ("kept" if own - listed - ROUNDING <= 2 * error else "**worse**")
        )
        lines.append(
            f"| {NAMES[cell.link]} | {cell.items} | {cell.alpha:g} | {own:.2f} ± {error:.2f} | {verdict} | "
            f"{mean['frozen centred'][0]:.2f} ± {mean['frozen centred'][1]:.2f} | "
            f"{mean['default paper'][0]:.2f} / {mean['frozen paper'][0]:.2f} | "
            f"{mean['default iterations'][0]:.0f} ({mean['default converged'][0]:.0%} converged) | "
            f"{mean['default seconds'][0]:.2f} |"
        )
    return lines


def error_table(results: dict[Cell, list[dict]], kind: str) -> list[str]:
    lines = [
        f"| link | N | alpha | D | method | {' | '.join(f'epsilon {e:g}' for e in EPSILONS)} |",
        "|---|---|---|---|---|" + "---|" * len(EPSILONS),
    ]
    for cell, found in results.items():
        if cell.kind != kind:
            continue
        for method in found[0]:
            wrong, n = np.sum([f[method] for f in found], axis=0), len(found)
            low, high = beta.ppf(0.025, wrong, n - wrong + 1), beta.ppf(0.975, wrong + 1, n - wrong)
            shown = [
                f"{w / n:.2f} ({0 if w == 0 else lo:.2f} to {1 if w == n else hi:.2f})"
                for w, lo, hi in zip(wrong, low, high, strict=True)
            ]
            lines.append(
                f"| {NAMES[cell.link]} | {cell.items} | {cell.alpha:g} | {cell.degree} | {method} | {' | '.join(shown)} |"
            )
    return lines


def page(results: dict[Cell, list[dict]], repeats: int) -> str:
    parts = [
        "# QUITE, cell by cell",
        f"`python benchmarks/quite_cells.py`: R = {repeats} simulated data sets in every cell, seeds 0 to {repeats - 1}.",
        "## What the paper says, and where it holds",
        "\n".join(f"- {sentence}" for sentence in claims(results)),
        "## Error against the Bayesian Cramér-Rao bound (figures 3 and 4)",
        "Centred error with the best scale over the centred bound, ± one standard error; *listed* is the figure to keep, to its "
        "rounding and two standard errors. The paper's form pins one item and divides by a bound that is mostly the shift. "
        "CPU s: one estimate.",
        "\n".join(bound_table(results)),
        "## Ranking error (figures 5 and 6)",
        "Share of data sets in which a pair that differs by more than epsilon is misranked, with its 95 % interval.",
        "\n".join(error_table(results, "ranking")),
        "## Degree of the graph, at the same number of answers (figure 7)",
        "\n".join(error_table(results, "degree")),
        "## One stage and two, at the same number of answers (figures 8 and 9)",
        "The first stage is a random regular graph with half of the answers, the second `inference.design.second_stage`.",
        "\n".join(error_table(results, "stages")),
    ]
    return "\n\n".join(parts) + "\n"


def claims(results: dict[Cell, list[dict]]) -> list[str]:
    """Say of each claim of the paper where it holds."""
    bound = {cell: found for cell, found in results.items() if cell.kind == "bound"}
    said = []
    for name in ("default", "frozen"):
        for form, place in (("paper", "in the paper's form"), ("centred", "like for like, centred")):
            ratio = {c: np.mean([f[f"{name} {form}"] for f in found]) for c, found in bound.items()}
            over = [in_words(c) for c, r in ratio.items() if r >= 10]
            values = np.array(list(ratio.values()))
            typical = int(((values >= 3) & (values <= 5)).sum())
            said.append(
                f"*The error is less than 10 times the bound, typically 3 to 5*, {name} reading, {place}: "
                f"{values.min():.2f} to {values.max():.2f}, median {np.median(values):.1f}; "
                + (f"at or over 10 at {', '.join(over)}" if over else "less than 10 in every cell")
                + f"; from 3 to 5 in {typical} of {len(values)} cells, below the bound in {(values < 1).sum()}."
            )
    for kind, better, worse, claim in (
        ("ranking", "QUITE", "AG", "QUITE ranks better than the alternating gradient"),
        ("ranking", "QUITE", "first iteration", "Iterating ranks better than the first iteration"),
        ("stages", "two stages", "one stage", "Two stages rank better than one"),
    ):
        said.append(
            f"*{claim}* (two-sided p < .05 by McNemar's exact test in each cell by itself): "
            + compared(results, kind, better, worse)
        )
    for link in (BTL, THURSTONE):
        shares = {
            cell.degree: np.mean([f["QUITE"] for f in found], axis=0)
            for cell, found in results.items() if cell.kind == "degree" and cell.link == link
        }  # fmt: skip
        if shares:
            rates = ", ".join(f"{share[1]:.2f} for D = {d}" for d, share in shares.items())
            falls = (np.diff([share[1] for share in shares.values()]) <= 0).all()
            said.append(
                f"*More pairs with fewer answers each rank better*, {NAMES[link]}, epsilon .04: {rates}: "
                + ("holds." if falls else "does not hold throughout.")
            )
    return said


def in_words(cell: Cell) -> str:
    return f"{NAMES[cell.link]} N = {cell.items}, alpha = {cell.alpha:g}"


def compared(results: dict[Cell, list[dict]], kind: str, better: str, worse: str) -> str:
    """Name the cells where one method misranks less often, where more often, and where nothing can be said."""
    verdicts: dict[str, list[str]] = {"holds": [], "the reverse": [], "undecided": []}
    for cell, found in results.items():
        if cell.kind != kind:
            continue
        for e, epsilon in enumerate(EPSILONS):
            one, other = (np.array([f[name][e] for f in found]) for name in (better, worse))
            wins, losses = int((other & ~one).sum()), int((one & ~other).sum())
            decided = wins + losses and binomtest(wins, wins + losses).pvalue < 0.05
            verdict = "undecided" if not decided else "holds" if wins > losses else "the reverse"
            verdicts[verdict].append(
                f"{in_words(cell)}, epsilon {epsilon:g} ({one.mean():.2f} to {other.mean():.2f})"
            )
    return (
        "; ".join(
            f"{name} in {len(c)}" + (f": {', '.join(c)}" if c and name != "undecided" else "")
            for name, c in verdicts.items()
        )
        + "."
    )
