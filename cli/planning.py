"""Command `plan`: how many items and answers a study needs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..posterior.table_text import decimal_number, whole_number
from .options import Prob, Seed, check_output
from .terminal import print_table, print_text

if TYPE_CHECKING:
    import xarray as xr

Sizes = Annotated[str, "Numbers of items that people answer, such as 100,200,400."]
SUFFIXES = (".csv", ".json")
ASSUMED = (
    "assumed: errors are independent given the category; where people and classifiers find the same items hard, or share errors, "
    "the accuracy is less certain than planned"
)


def plan(
    pilot: Annotated[
        Path | None,
        typer.Argument(
            help="Posterior of a pilot, by `raterzoo fit --predictions`; without one the skills are stated."
        ),
    ] = None,
    *,
    items: Sizes,
    raters: Annotated[str, "Numbers of different people who answer each item, such as 1,2,3,5."],
    alone: Annotated[str, "Numbers of further items that the classifiers alone answer."] = "0",
    width: Annotated[
        float | None, "Aim: an interval of the accuracy that is at most so wide, such as .05."
    ] = None,
    decide: Annotated[
        float | None, "Aim: the better of two classifiers at this posterior probability, such as .95."
    ] = None,
    people: Annotated[
        str | None, "Without a pilot: probability of people to be right, or mean,standard deviation."
    ] = None,
    classifier: Annotated[
        list[str] | None,
        "Repeatable: NAME=.85, its probability of being right, or NAME=mean,standard deviation. Of a pilot only NAME.",
    ] = None,
    prevalence: Annotated[
        str | None,
        "Without a pilot: prevalence of the categories, such as .2,.8, or their number; default 2.",
    ] = None,
    pool: Annotated[
        int | None, "Number of people in the study; default the pilot's own, or 10 without a pilot."
    ] = None,
    price_answer: Annotated[float, "Price of an answer of a person."] = 1,
    price_item: Annotated[float, "Price of an item that people answer."] = 0,
    price_prediction: Annotated[float, "Price of an item that the classifiers alone answer."] = 0,
    prob: Prob = 0.9,
    assurance: Annotated[float, "Share of the simulated studies that are to reach the aim."] = 0.9,
    simulations: Annotated[int, "Simulated studies of each design."] = 200,
    out: Annotated[Path | None, "All numbers: plan.csv or plan.json.", "-o"] = None,
    seed: Seed = 1,
) -> None:
    """Simulate studies of labels of different sizes, and name the cheapest one that reaches an aim."""
    if out is not None:
        if out.suffix.lower() not in SUFFIXES:
            raise ValueError(f"--out {out}: name a .csv or a .json file")
        check_output("--out", out)
    if (width is None) == (decide is None):
        raise ValueError(
            "name one aim: --width .05 for the accuracy, or --decide .95 between two classifiers"
        )
    sizes = {
        "items": _sizes("--items", items),
        "raters": _sizes("--raters", raters),
        "alone": _sizes("--alone", alone),
    }
    stated = {"--people": people, "--prevalence": prevalence}
    if pilot is not None and (given := [name for name, value in stated.items() if value is not None]):
        raise ValueError(f"{given[0]} is for plans without a pilot; leave it out, or {pilot}")
    if pilot is None and (people is None or not classifier):
        raise ValueError("name the posterior of a pilot, or state skills: --people .8 --classifier model=.85")
    skills = {} if pilot is not None else dict(_named_skill(own) for own in classifier or [])
    of_people = 0.0 if people is None else _skill("--people", people)
    shares = _prevalence(prevalence)
    # nothing slow is imported before the options are checked
    from ..inference.design import Decision, Precision, Prices, stated_skills
    from ..inference.design import plan as planned

    with _options_named(decide is not None):
        aim: Any = Precision(width, prob) if width is not None else Decision(decide or 0.0)
        prices = Prices(price_answer, price_item, price_prediction)
    options: dict[str, Any] = {
        "price": prices,
        "assurance": assurance,
        "simulations": simulations,
        "random_seed": seed,
    }
    if pilot is None:
        number = 10 if pool is None else pool
        with _options_named():
            tree = stated_skills(of_people, skills, pool=number, prevalence=shares, random_seed=seed)
    else:
        from ..inference.storage.posterior_files import read_posterior

        tree = read_posterior(pilot)
        options |= {"pool": pool, "classifiers": classifier}
    with _options_named():
        found = planned(aim, tree, **sizes, **options)
    rows = _rows(found)
    print_table(
        [_on_terminal(row, found) for row in rows], f"aim: {found.attrs['aim']}", whole=("width", "assurance")
    )
    print_text(found.attrs["verdict"])
    print_text(ASSUMED)
    if out is not None:
        from .section_files import write_rows

        facts = {name: found.attrs[name] for name in ("aim", "assurance", "simulations", "verdict")}
        write_rows(out, {**facts, "designs": rows}, {"": rows})


NAMED = {
    "price: answer=": "--price-answer ",
    "price: item=": "--price-item ",
    "price: prediction=": "--price-prediction ",
    "the skill of 'person 1'=": "--people ",
    "pool= ": "--pool ",
    **{
        f"{name}=": f"--{name} "
        for name in ("items", "raters", "alone", "width", "prevalence", "pool", "assurance")
    },
    "simulations=": "--simulations ",
    "classifiers=": "--classifier",
}  # how errors name arguments -> the options of the command line


@contextmanager
def _options_named(decision: bool = False) -> Iterator[None]:
    """Context manager: errors about arguments of Python name the options; a `decision` has its probability by --decide."""
    try:
        yield
    except ValueError as error:
        text = str(error).replace("probability=", "--decide " if decision else "--prob ")
        for argument, option in NAMED.items():
            text = text.replace(argument, option)
        raise ValueError(text) from None


def _sizes(option: str, text: str) -> list[int]:
    """Whole numbers of an option, with commas between them."""
    found = [whole_number(part) for part in text.split(",")]
    if None in found:
        raise ValueError(
            f"{option} {text}: expected whole numbers with commas between them, such as 100,200,400"
        )
    return [number for number in found if number is not None]


def _numbers(text: str) -> list[float] | None:
    """Numbers with commas between them, or None."""
    found = [decimal_number(part) for part in text.split(",")]
    return [own for own in found if own is not None and isfinite(own)] if None not in found else None


def _skill(option: str, text: str) -> float | tuple[float, float]:
    """Return a probability, or mean and standard deviation of one."""
    numbers = _numbers(text)
    if numbers is None or len(numbers) not in (1, 2):
        raise ValueError(
            f"{option} {text}: expected a probability, such as .8, or mean and standard deviation, such as .8,.05"
        )
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _named_skill(text: str) -> tuple[str, float | tuple[float, float]]:
    name, given, skill = text.rpartition("=")
    if not given or not name:
        raise ValueError(
            f"--classifier {text}: expected its name and its probability of being right, such as model=.85"
        )
    return name, _skill(f"--classifier {name}=", skill)


def _prevalence(text: str | None) -> list[float] | int:
    """Return shares of the categories, or their number."""
    if text is None:
        return 2
    number = whole_number(text)
    if number is not None:
        return number
    shares = _numbers(text)
    if shares is None:
        raise ValueError(f"--prevalence {text}: expected shares, such as .2,.8, or a number of categories")
    return shares


def _rows(found: "xr.Dataset") -> list[dict[str, Any]]:
    """Return one row for each design."""
    flat = found.stack(design=("items", "raters", "alone"))
    rows = []
    for place, (items, raters, alone) in enumerate(flat["design"].to_numpy().tolist()):
        own = flat.isel(design=place)
        row: dict[str, Any] = {"items": items, "raters": raters, "alone": alone}
        names: Sequence[str] = [n for n in ("width", "width_mcse", "right", "wrong") if n in found]
        row |= {name: float(own[name]) for name in (*names, "assurance", "assurance_mcse", "cost")}
        rows.append(row | {"meets": bool(own["meets"])})
    return rows


def _on_terminal(row: dict[str, Any], found: "xr.Dataset") -> dict[str, Any]:
    """Row in the form of the terminal, without what is the same everywhere."""
    shown = {"items": row["items"], "people each": row["raters"]}
    if (found["alone"] > 0).any():
        shown["alone"] = row["alone"]
    shown["width"] = f"{row['width']:.3f} ± {row['width_mcse']:.3f}"
    if "wrong" in row:  # the assurance is the share of those that are right
        shown["worse found"] = f"{row['wrong']:.2f}"
    shown["assurance"] = f"{row['assurance']:.2f} ± {row['assurance_mcse']:.2f}"
    return shown | {"cost": f"{row['cost']:,.10g}", "": "meets the aim" if row["meets"] else ""}
