"""Figures of a report as inline SVG: named, described, and in the colours of the page."""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from ..evaluation.plots.style import BAND, COLOURS, GREY, INK
from .wording import first_names

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# colours that the page defines for light and dark; those of coloured cells stay
PAGE_COLOURS = {
    "#000000": "--ink",
    "#ffffff": "--paper",
    "#b0b0b0": "--grey",
    **{INK: "--ink", GREY: "--grey", BAND: "--band"},
    **{colour.lower(): f"--c{place}" for place, colour in enumerate(COLOURS)},
}
PIXELS = 4 / 3  # per point
NAMED = 12  # rows named in a description
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", LINK)


def figure_markup(figure: Figure, name: str, number: int) -> tuple[Markup, int]:
    """Return a figure as an image with a title and a description, and its width in pixels; matplotlib escapes its labels."""
    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "raterzoo"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has more glyphs
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    root = ElementTree.fromstring(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text[text.index("<svg") :]))
    _drop_what_the_page_has(root)
    _rename_ids(root, f"f{number}-")
    for own in root.iter():
        if style := own.get("style"):
            own.set("style", re.sub(r"#[0-9a-f]{6}\b", _page_colour, style))
    wide = float(root.get("width", "0").removesuffix("pt")) * PIXELS
    for name_of_size in ("width", "height"):
        root.attrib.pop(name_of_size, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"f{number}-title f{number}-desc")
    for place, (tag, said) in enumerate({"title": name, "desc": description(figure)}.items()):
        own = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": f"f{number}-{tag}"})
        own.text = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", said)
        root.insert(place, own)
    return Markup(ElementTree.tostring(root, encoding="unicode")), round(wide)


def _drop_what_the_page_has(root: ElementTree.Element) -> None:
    """Remove metadata, and the style sheet, which would apply to the whole page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)


def _rename_ids(root: ElementTree.Element, prefix: str) -> None:
    """Make the ids that are referred to unique on the page, and remove the others."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    for own in root.iter():
        if (name := own.attrib.pop("id", None)) in used:
            own.set("id", prefix + str(name))
        for attribute in ("clip-path", "mask", "filter", "style", f"{{{LINK}}}href"):
            if (value := own.get(attribute)) is not None:
                value = value.replace("url(#", f"url(#{prefix}")
                own.set(attribute, f"#{prefix}{value[1:]}" if value.startswith("#") else value)


def _page_colour(found: re.Match[str]) -> str:
    """Return the page's name of a colour, or the colour."""
    name = PAGE_COLOURS.get(found[0])
    return f"var({name})" if name else found[0]


def caption(figure: Figure) -> str:
    """Return what the panels of a figure show, in words."""
    said = list(dict.fromkeys(filter(None, map(_shown, figure.axes))))
    return "; ".join(said)


def description(figure: Figure) -> str:
    """Return the caption of a figure, the entries of its legend, and the names of its rows."""
    parts = [caption(figure)]
    legends = [*figure.legends, *(own for ax in figure.axes if (own := ax.get_legend()) is not None)]
    if entries := [_literal(text.get_text()) for own in legends for text in own.get_texts()]:
        parts.append(f"Shown: {first_names(entries, NAMED, '; ')}")
    rows = [list(_names(ax.get_yticklabels())) for ax in figure.axes]
    if named := next((names for names in rows if names), None):
        parts.append(f"Rows from below: {first_names(named, NAMED)}")
    return ". ".join([*parts, "The text and the table of this section have the numbers"]) + "."


def _names(labels: Sequence[Any]) -> Iterator[str]:
    """Yield tick labels that are not numbers."""
    for label in labels:
        text = _literal(label.get_text())
        if text and not re.fullmatch(r"[\d.,\N{MINUS SIGN}%-]+", text):
            yield text


def _shown(ax: Any) -> str:
    """Return title and axes of a panel in words."""
    if ax.get_label() == "<colorbar>":
        return f"colour: {_literal(ax.get_ylabel())}"
    across, up = (" ".join(_literal(text).split()) for text in (ax.get_xlabel(), ax.get_ylabel()))
    axes = f"{up} against {across}" if across and up else across or up
    title = next((own for side in ("left", "center", "right") if (own := ax.get_title(side))), "")
    return ": ".join(part for part in (_literal(title), axes) if part)


def _literal(text: str) -> str:
    """Return a label without the escape of matplotlib's mathematics."""
    return text.replace(r"\$", "$")
