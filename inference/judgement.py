"""Verdict on convergence: one sentence that says whether draws converged, or which did not."""

import numpy as np
import xarray as xr

__all__ = ["verdict"]

LOWEST_E_BFMI = 0.3
RARELY = 0.05  # share of draws with switched labels up to which it is not mentioned


def verdict(diagnosis: xr.Dataset, *, listed: int = 5) -> tuple[bool, str]:
    """Whether a diagnosis by `diagnose` passes, and a one-line summary that names the `listed` worst failures."""
    chains, draws = diagnosis.attrs["chains"], diagnosis.attrs["draws"]
    infinite = _not_finite(diagnosis, listed)
    if diagnosis.attrs["exact"]:
        if infinite:
            return False, f"NOT exact: {infinite[0]}"
        return (
            True,
            f"exact: {chains * draws:,} independent draws, which have nothing to converge to",
        )
    complaints = [
        *infinite,
        *_failed_items(diagnosis, listed),
        *_failed_elements(diagnosis, listed),
    ]
    if chains < 2:
        complaints.insert(0, "one chain has no R-hat, sample at least two")
    if count := int(diagnosis["divergences"].sum()) if "divergences" in diagnosis else 0:
        complaints.append(f"{count:,} divergences")
    if "e_bfmi" in diagnosis:
        lowest = float(diagnosis["e_bfmi"].min())
        if not lowest >= LOWEST_E_BFMI:
            complaints.append(f"E-BFMI {lowest:.2f} is below {LOWEST_E_BFMI}")
    switching = _switching(diagnosis)
    if complaints:
        return False, "NOT converged: " + "; ".join([*complaints, *switching])
    return True, "; ".join([_praise(diagnosis), *switching])


def _switching(diagnosis: xr.Dataset) -> list[str]:
    """Note on label switching, if it is frequent."""
    if "switched" not in diagnosis:
        return []
    share = diagnosis["switched"].to_numpy()
    if not (share > RARELY).any():
        return []
    chains = ", ".join(
        f"chain {chain} ({share[chain]:.0%} of the draws)"
        for chain in np.flatnonzero(share > RARELY)
    )
    return [
        f"label switching in {chains}: raters would be right more often under other names of the "
        "categories; give a prior that favours the diagonal, or see inference.relabel"
    ]


def _not_finite(diagnosis: xr.Dataset, listed: int) -> list[str]:
    """Note on infinite and NaN draws, if there are any."""
    by_item, element = diagnosis["not_finite"], diagnosis["element_not_finite"].to_numpy() > 0
    place = np.argwhere(by_item.to_numpy() > 0).tolist()
    quantity, item = by_item["quantity"].to_numpy(), by_item["item"].to_numpy()
    names = [f"{quantity[q]} of item {item[i]}" for q, i in place[:listed]]
    names += diagnosis["element"].to_numpy()[element][: listed - len(names)].tolist()
    found = len(place) + int(element.sum())
    if not found:
        return []
    more = f", and {found - len(names):,} more" if found > len(names) else ""
    are = "is" if found == 1 else "are"
    return [f"{', '.join(names)}{more} {are} infinite or NaN in a draw"]


def _failed_items(diagnosis: xr.Dataset, listed: int) -> list[str]:
    """Note on the items that missed a threshold, each at its worst quantity."""
    failed = diagnosis["failed"].to_numpy() > 0
    n_failed = int(failed.any(axis=0).sum())
    if not n_failed:
        return []
    smallest = _smallest_ess(diagnosis, "")
    smallest = np.where(failed, np.nan_to_num(smallest, nan=-np.inf), np.inf)
    worst = np.argsort(smallest.min(axis=0), kind="stable")[: min(listed, n_failed)]
    names = []
    for item in worst:
        quantity = smallest[:, item].argmin()
        cell = diagnosis.isel(item=item, quantity=quantity)
        names.append(
            f"item {cell['item'].item()} ({cell['quantity'].item()}: {_figures(cell, '')})"
        )
    return [_complaint(n_failed, diagnosis.sizes["item"], "items", diagnosis, names)]


def _failed_elements(diagnosis: xr.Dataset, listed: int) -> list[str]:
    """Note on the elements of variables without items that missed a threshold."""
    failed = diagnosis.isel(element=diagnosis["element_failed"].to_numpy() > 0)
    n_failed = failed.sizes["element"]
    if not n_failed:
        return []
    smallest = np.nan_to_num(_smallest_ess(failed, "element_"), nan=-np.inf)
    cells = (failed.isel(element=i) for i in np.argsort(smallest, kind="stable")[:listed])
    names = [f"{cell['element'].item()} ({_figures(cell, 'element_')})" for cell in cells]
    kind = "other quantities" if diagnosis.sizes["item"] else "quantities"
    return [_complaint(n_failed, diagnosis.sizes["element"], kind, diagnosis, names)]


def _complaint(
    n_failed: int, total: int, kind: str, diagnosis: xr.Dataset, names: list[str]
) -> str:
    """Sentence with the number of failures, the thresholds and the worst names."""
    gates = f"R-hat {diagnosis.attrs['r_hat']:g} / ESS {diagnosis.attrs['ess']:g}"
    verb = "misses" if n_failed == 1 else "miss"
    more = f", and {n_failed - len(names):,} more" if n_failed > len(names) else ""
    return f"{n_failed:,} of {total:,} {kind} {verb} {gates}: {', '.join(names)}{more}"


def _smallest_ess(diagnosis: xr.Dataset, prefix: str) -> np.ndarray:
    """Smaller one of bulk and tail ESS."""
    ess = (diagnosis[f"{prefix}{part}"].to_numpy() for part in ("ess_bulk", "ess_tail"))
    return np.minimum(*ess)


def _figures(cell: xr.Dataset, prefix: str) -> str:
    """R-hat and ESS of one item or element, as text."""
    ess = float(_smallest_ess(cell, prefix))
    if np.isnan(ess):
        return "NaN or too few draws"
    return f"R-hat {float(cell[f'{prefix}r_hat']):.3f}, ESS {ess:.0f}"


def _praise(diagnosis: xr.Dataset) -> str:
    """Summary of converged draws: worst R-hat, bulk and tail ESS, each rounded to the conservative side."""
    moving = diagnosis["constant"] < diagnosis["elements"]
    worst = {}
    for statistic, reduce in (
        ("r_hat", np.nanmax),
        ("ess_bulk", np.nanmin),
        ("ess_tail", np.nanmin),
    ):
        items = diagnosis[statistic].where(moving).to_numpy().ravel()
        elements = diagnosis[f"element_{statistic}"].where(diagnosis["element_constant"] == 0)
        figures = np.concatenate([items, elements.to_numpy()])
        if np.isnan(figures).all():
            return "converged: no quantity ever moved"
        worst[statistic] = reduce(figures)
    names = [str(name) for name in diagnosis["quantity"].to_numpy()]
    others = diagnosis.sizes["element"]
    count = int(diagnosis["elements"].sum()) + others
    of = ", ".join(names + [f"{others:,} others"] * bool(names and others))
    constant = int(diagnosis["constant"].sum() + diagnosis["element_constant"].sum())
    return (
        f"converged: R-hat <= {np.ceil(1000 * worst['r_hat']) / 1000:.3f}, "
        f"bulk ESS >= {np.floor(worst['ess_bulk']):,.0f}, "
        f"tail ESS >= {np.floor(worst['ess_tail']):,.0f} "
        f"over {count:,} quantities{f' ({of})' if of else ''}"
        f"{f'; {constant:,} of them never moved' if constant else ''}"
    )
