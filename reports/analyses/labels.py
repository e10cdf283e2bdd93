"""Analysis of labels: what is true, who can be trusted, whether to rely on it, and what to ask next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from ... import evaluation
from ...models import Labels, catalog
from ...models._catalog import shared_errors_of
from ...models.data.labels import EVERYONE
from ...models.data.reading.tag_sets import bits_of_sets
from ...posterior.errors import EvaluationError
from ...posterior.ordered import ordered_categories
from ...posterior.schema import SAMPLE
from ..sections.agreement import agreement_rows
from ..sections.metrics import metric_rows
from ..sections.model_fit import is_apart, share_errors
from .analysis import Quantity, Soundness, names, table
from .truth import ClassifierFacts, TruthAnalysis

ENDS = (0.05, 0.95)
FEWEST = 10  # answers from which a rater is flagged
CHANCE = 0.15  # share of the way from chance to perfection below which answers are no better than guesses
ALWAYS = 0.95  # share of one label among the answers of a rater who always gives it
MOSTLY = 0.75  # and of one who guesses, and mostly gives it
COMMON = 0.8  # share of the items from which giving one label always may be right
MOST_SAID = 2  # failed checks that are said beside shared errors
GOLD = 50  # items with known truth that narrow the expected accuracy


@dataclass(frozen=True)
class LabelFacts:
    """Numbers of the answers about labels."""

    scale: tuple[str, ...]  # categories that look ordered, which the model takes as names; else empty
    model: str
    items: int
    answers: int
    differs: int  # items whose most probable label is not among the most frequent answers
    tags: Mapping[
        str, float
    ]  # tag -> share of the items of which it is true, the most common first; empty without tags
    misses: (
        tuple[str, str, float] | None
    )  # rater, tag and sensitivity farthest below that of the middle rater
    invents: tuple[str, str, float] | None  # and specificity
    populations: tuple[tuple[str, ...], ...]  # raters of each, if populations have truths of their own
    contested: float | None  # share of the items whose truths differ
    disputed: Mapping[str, tuple[str, ...]]  # item -> truth of each population, the most contested first
    sides: tuple[tuple[str, ...], ...]  # two, who agree within and not between; none without
    right: Quantity  # expected share of the items whose most probable label is the truth
    raters: int
    named: bool  # whether the model tells the raters apart
    anonymous: bool  # whether the table does not say who answered
    pooled: bool  # whether all raters are taken as one
    known: int | None  # raters known from earlier studies; None without a history
    history: Mapping[str, float]  # share of the raters who are as in the history, as in a tenth of it, ...
    copying: tuple[tuple[str, ...], ...]  # sets of raters who copy each other
    copying_or_others: tuple[tuple[str, ...], ...]  # larger sets: they copy each other, or all others do
    refitted: bool  # whether `copying` were fitted again as one
    changed: int  # labels that this changed
    guessing: tuple[str, ...]
    always: Mapping[str, str]  # rater -> "always says yes"
    inverted: tuple[str, ...]
    best: tuple[str, float] | None  # rater, share right
    worst: tuple[str, float] | None
    apart: bool  # whether the intervals of best and worst do not overlap
    sound: Soundness
    shared_errors: bool  # whether a failed check says that raters share errors
    allowed: bool  # whether the certainties allow for shared errors
    further: tuple[str, ...]  # what failed checks say that shared errors do not explain
    gold: int
    enough_gold: int
    ask: tuple[str, ...]
    classifiers: ClassifierFacts


@dataclass(frozen=True, eq=False)
class LabelAnalysis(TruthAnalysis):
    """Analysis of labels.

    ``items`` has the columns item, label, certainty, vote (the most frequent answer), differs_from_vote, answers, ask (whether it
    is among the first to ask about); ``raters`` has rater, answers, right with the ends of its 90 % interval, and flag.
    """

    kind: ClassVar[str] = "labels"
    before: "LabelAnalysis | None" = None  # the fit by whose checks raters who copy were fitted again

    def _sets(self, name: str) -> list[list[str]]:
        """Return sets of raters that the checks of the model that was fitted first name."""
        return super()._sets(name) if self.before is None else self.before._sets(name)

    @property
    def labels(self) -> Labels:
        """The annotations."""
        assert isinstance(self.data, Labels)
        return self.data

    @cached_property
    def truth(self) -> xr.Dataset:
        """Probabilities of the categories, the most probable label and its certainty."""
        if self.study.is_of_category:
            return evaluation.truth_certainty(self.tree)
        return xr.Dataset({"label": self.best.labels["label"][:, 0, 0], "certainty": self.best.certainty})

    @cached_property
    def items(self) -> pd.DataFrame:
        """Items: label, certainty, vote, whether they differ, answers, and whether to ask about them first."""
        counts, categories = self.labels.counts, self.labels.categories
        code = {name: place for place, name in enumerate(categories.astype(str).tolist())}
        label = [code[name] for name in self.truth["label"].to_numpy().astype(str).tolist()]
        of_label = counts[np.arange(len(counts)), label]
        vote = categories.astype(object)[counts.argmax(axis=1)]
        first = set(self.ask)
        item = self.labels.items
        return table(
            {
                "item": item,
                "label": categories[label],
                "certainty": self.truth["certainty"].to_numpy(),
                "vote": np.where(counts.any(axis=1), vote, "").tolist(),
                "differs_from_vote": of_label < counts.max(axis=1),
                "answers": counts.sum(axis=1).astype(int),
                "ask": [str(name) in first for name in item.tolist()],
                **self._of_populations(),
            }
        )

    @cached_property
    def contested(self) -> xr.Dataset | None:
        """Probability that the truths of populations differ, and the truth of each, the most contested items first."""
        return (
            evaluation.contested_items(self.tree)
            if "membership" in self.tree["posterior"].data_vars
            else None
        )

    def _of_populations(self) -> dict[str, Any]:
        """Return columns of the items: whether they are contested, and the label of each further population."""
        if self.contested is None:
            return {}
        found = self.contested.sel(item=self.labels.items)
        label = found["label"].transpose("population", "item").to_numpy()
        further = zip(found["population"].to_numpy().tolist()[1:], label[1:], strict=True)
        return {"contested": found["contested"].to_numpy()} | {f"label_{g}": own for g, own in further}

    def _populations(self) -> dict[str, Any]:
        """Return the raters of each population, the share of contested items, and the most contested ones."""
        if self.contested is None:
            return {"populations": (), "contested": None, "disputed": {}}
        member = self.tree["posterior"]["membership"].stack(sample=SAMPLE).transpose("rater", "sample")
        sizes = np.arange(self.contested.sizes["population"])
        of = (member.to_numpy()[..., None] == sizes).mean(axis=1).argmax(axis=1)
        raters = member["rater"].to_numpy().astype(str)
        most = self.contested.isel(item=self.contested["contested"] > 0.5)[["label"]].isel(
            item=slice(MOST_SAID)
        )
        label = most["label"].transpose("item", "population").to_numpy().astype(str).tolist()
        return {
            "populations": tuple(tuple(raters[of == g].tolist()) for g in sizes),
            "contested": float(self.contested["contested"].mean()),
            "disputed": dict(
                zip(most["item"].to_numpy().astype(str).tolist(), map(tuple, label), strict=True)
            ),
        }

    @cached_property
    def answers_right(self) -> xr.Dataset | None:
        """Share of the answers of each rater that is right, by the truth of its own population; None if no raters are known."""
        try:
            found = evaluation.answers_right(self.tree)
        except EvaluationError:
            return None
        return found if self.contested is None else found.assign(right=self.tree["posterior"]["ability"])

    @cached_property
    def raters(self) -> pd.DataFrame:
        """Raters: answers, how many are right, and a flag: copies others, guesses, always says one label, inverted."""
        found = self.answers_right
        if found is None:
            return table(
                {name: [] for name in ("rater", "answers", "right", "right_low", "right_high", "flag")}
            )
        low, high = found["right"].quantile(ENDS, SAMPLE).to_numpy()
        frame = table(
            {
                "rater": found["rater"].to_numpy().astype(str),
                "answers": found["answers"].to_numpy(),
                "right": found["right"].mean(SAMPLE).to_numpy(),
                "right_low": low,
                "right_high": high,
            }
        )
        return frame.assign(flag=self._flags(frame.to_dict("records")))

    def _flags(self, raters: Sequence[Mapping[Any, Any]]) -> list[str]:
        """Return what is wrong with each rater, "" for most."""
        data, probability = self.labels, self.truth["probability"].to_numpy()
        given = np.zeros((len(data.raters), len(data.categories)))
        np.add.at(given, (data.annotation_rater, data.label_code), data.count)
        # share right of the same answers, given to the same items in random order
        true, answers = np.zeros_like(given), np.maximum(given.sum(axis=1), 1)
        np.add.at(true, data.annotation_rater, data.count[:, None] * probability[data.annotation_item])
        chance = (given * true).sum(axis=1) / answers**2
        share = given.max(axis=1) / answers
        categories = data.categories.astype(str)
        copied = {own: [o for o in group if o != own] for group in self.copying for own in group}
        flags = []
        for rater, row in enumerate(raters):
            usual, beyond = given[rater].argmax(), (1 - chance[rater]) * CHANCE
            flag = ""
            if row["rater"] in copied:
                flag = f"copies {names(copied[row['rater']])}"
            elif row["answers"] < FEWEST:
                pass
            elif share[rater] >= ALWAYS:
                flag = f"always says {categories[usual]}" if probability[:, usual].mean() < COMMON else ""
            elif row["right_high"] < chance[rater] - beyond:
                flag = "inverted"
            elif row["right"] < chance[rater] + beyond:
                flag = f"mostly says {categories[usual]}" if share[rater] >= MOSTLY else "guesses"
            flags.append(flag)
        return flags

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """Coefficients of agreement beyond chance, with 90 % intervals over resampled items; none if no item has two answers."""
        ordered = catalog[self.study.settings.model].needs_order
        try:
            rows = agreement_rows(self.labels, ordered=ordered, pairs=False, random_seed=self.seed)
        except EvaluationError:
            rows = []
        return table({name: [own[name] for own in rows] for name in ("coefficient", "value", "low", "high")})

    def _changed(self) -> int:
        """Return the number of labels that the second fit changed."""
        if self.before is None:
            return 0
        return int((self.before.truth["label"].to_numpy() != self.truth["label"].to_numpy()).sum())

    def _history(self) -> dict[str, Any]:
        """Return the number of known raters, and the mean weights of the parts of the prior of raters."""
        weight = self.tree["posterior"].to_dataset().get("history_weight")
        if weight is None:
            return {"known": None, "history": {}}
        mean = weight.mean(SAMPLE)
        of = dict(zip(mean["history"].to_numpy().astype(str).tolist(), mean.to_numpy().tolist(), strict=True))
        return {"known": int(self.tree["constant_data"]["history_known"].to_numpy().sum()), "history": of}

    def _tags(self) -> dict[str, Any]:
        """Return the shares of the tags, and the raters who are clearly worse at one than the middle rater."""
        share = (
            self.truth["probability"].mean("item").to_numpy() @ bits_of_sets(len(self.labels.tags))
            if self.labels.tags
            else []
        )
        order = sorted(zip(self.labels.tags, map(float, share), strict=True), key=lambda own: -own[1])
        found: dict[str, Any] = {"tags": dict(order), "misses": None, "invents": None}
        posterior = self.tree["posterior"].to_dataset()
        for fault, name in {"misses": "sensitivity", "invents": "specificity"}.items():
            if name not in posterior:
                continue
            rate = posterior[name].transpose(*SAMPLE, "rater", "tag")
            mean = rate.mean(SAMPLE)
            # at the level of the worst of all raters and tags, of which some stray
            upper = rate.quantile(1 - ENDS[0] / mean.size, SAMPLE).to_numpy()
            below = np.median(mean.to_numpy(), axis=0) - upper
            k, t = np.unravel_index(below.argmax(), below.shape)
            if below[k, t] > 0:
                found[fault] = (str(mean["rater"][k].item()), str(mean["tag"][t].item()), mean[k, t].item())
        return found

    @cached_property
    def facts(self) -> LabelFacts:
        """Numbers of the answers."""
        (expected,) = metric_rows({"right": self.best.scores})
        raters: list[dict[Any, Any]] = self.raters.to_dict("records")
        flags = {str(own["rater"]): str(own["flag"]) for own in raters}
        ranked = [own for own in raters if own["answers"] >= FEWEST and not own["flag"].startswith("copies")]
        ranked.sort(key=lambda own: -own["right"])
        first, last = (ranked[:1], ranked[-1:]) if len(ranked) > 1 else ([], [])
        failed = np.array([own["check"] for own in self.checks.to_dict("records") if own["fails"]])
        name = self.study.settings.model
        order = None if catalog[name].needs_order else ordered_categories(self.labels.categories)
        sentences = [] if isinstance(self.checked, EvaluationError) else self.checked.attrs["sentences"]
        return LabelFacts(
            scale=() if order is None else tuple(map(str, order)),
            model=name,
            items=len(self.labels.items),
            answers=len(self.labels),
            differs=sum(self.items["differs_from_vote"].tolist()),
            **self._tags(),
            **self._populations(),
            sides=tuple(map(tuple, self._sets("sides"))),
            right=Quantity(expected["mean"], expected["lower"], expected["upper"]),
            raters=len(self.labels.raters),
            named=len(raters) > 0,
            anonymous=self.labels.anonymous,
            pooled=EVERYONE in self.labels.raters.tolist(),
            **self._history(),
            copying=tuple(map(tuple, self.copying)),
            copying_or_others=tuple(map(tuple, self._sets("copying_or_others"))),
            refitted=self.before is not None,
            changed=self._changed(),
            guessing=tuple(name for name, flag in flags.items() if flag == "guesses"),
            always={name: flag for name, flag in flags.items() if " says " in flag},
            inverted=tuple(name for name, flag in flags.items() if flag == "inverted"),
            best=next(((own["rater"], own["right"]) for own in first), None),
            worst=next(((own["rater"], own["right"]) for own in last), None),
            apart=any(own["right_low"] > other["right_high"] for own in first for other in last),
            sound=self.sound,
            shared_errors=share_errors(failed),
            allowed=self.before is not None or shared_errors_of(self.tree) == "average",
            further=tuple(own for own in sentences if is_apart(own))[:MOST_SAID],
            gold=int((self.labels.gold >= 0).sum()),
            enough_gold=GOLD,
            ask=self.ask,
            classifiers=self.classifier_facts,
        )
