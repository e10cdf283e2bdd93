"""Plate diagrams of PyMC models as SVG, in the colours of the page.

A variable is drawn below all that its law takes, in the frame of its dims. Frames are packed into columns; of the orders of the
columns that is taken whose arrows are shortest and hide behind the fewest boxes.
"""

from html import escape
from itertools import islice, permutations

from pymc.model_graph import ModelGraph

LETTER, SMALL_LETTER, PAD, BOX, ROW, MARGIN, LABEL = 7.4, 6.8, 12, 26, 80, 12, 16
UNFRAMED = ""
STYLE = {"observed": "fill:var(--pst-color-border)", "free": "", "deterministic": "stroke-dasharray:4 3"}


def plate_diagram(model, name):
    """Return an SVG element that shows variables, dims and dependence of a model."""
    parents = parents_of(model)
    rows = {node: depth(node, parents) for node in parents}
    frames = frames_of(model, rows)
    columns = packed(frames, rows)
    labels = {dims: label_of(dims, model) for dims in frames}
    columns = min(
        islice(permutations(columns), 5040),
        key=lambda order: cost(placed(order, frames, rows, labels)[0], parents, rows),
    )
    places, boxes, width = placed(columns, frames, rows, labels)
    height = MARGIN + (1 + max(rows.values())) * ROW
    parts = [_frame(box) for dims, box in boxes.items() if labels[dims]]
    parts += [_arrow(places[p], places[node]) for node, own in parents.items() for p in sorted(own)]
    parts += [_box(node, places[node], kind_of(model, node)) for node in parents]
    parts += [_label(box, labels[dims]) for dims, box in boxes.items() if labels[dims]]
    arrow = (
        f'<marker id="arrow-{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker>'
    )
    title = f"Plate diagram of {name}: " + "; ".join(
        f"{node} depends on {', '.join(sorted(own))}" for node, own in parents.items() if own
    )
    body = "".join(parts).replace("#arrow", f"#arrow-{name}")
    return (
        f'<div class="plates" tabindex="0" role="group" aria-label="Plate diagram of {name}">'
        f'<svg role="img" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>{escape(title)}</title><defs>{arrow}</defs>{body}</svg></div>"
    )


def parents_of(model):
    """Return {variable: names of those that its law takes}, without codes, in the order of the model."""
    graph = ModelGraph(model).make_compute_graph()
    codes = {v.name for v in model.data_vars if "int" in v.dtype or v.dtype == "bool"}
    found = {n: graph.get(n, set()) - codes for n in model.named_vars if n in graph and n not in codes}
    taken = set().union(*found.values())
    return {n: own for n, own in found.items() if own or n in taken or n in map(str, model.free_RVs)}


def depth(node, parents):
    """Return the longest way from a variable up to one without parents."""
    return max((1 + depth(p, parents) for p in parents[node]), default=0)


def frames_of(model, rows):
    """Return {dims: variables}; each variable without dims has a frame of its own, that is not drawn."""
    frames = {}
    for node in rows:
        dims = tuple(model.named_vars_to_dims.get(node, ()))
        frames.setdefault(dims or (UNFRAMED, node), []).append(node)
    return frames


def packed(frames, rows):
    """Return columns, each a tuple of frames whose rows do not overlap."""
    columns = []
    for dims in sorted(frames, key=lambda d: (min(rows[n] for n in frames[d]), d)):
        own = {rows[n] for n in frames[dims]}
        for column in columns:
            taken = {r for d in column for r in range(_first(frames[d], rows), 1 + _last(frames[d], rows))}
            if not taken & set(range(min(own), 1 + max(own))):
                column.append(dims)
                break
        else:
            columns.append([dims])
    return [tuple(column) for column in columns]


def _first(nodes, rows):
    return min(rows[n] for n in nodes)


def _last(nodes, rows):
    return max(rows[n] for n in nodes)


def placed(columns, frames, rows, labels):
    """Return {variable: (x, y, width)} of the centres, {dims: (left, top, right, bottom)}, and the width of all."""
    places, boxes, left = {}, {}, MARGIN
    for column in columns:
        layers = {
            dims: {
                r: [n for n in frames[dims] if rows[n] == r] for r in sorted({rows[n] for n in frames[dims]})
            }
            for dims in column
        }
        wide = max(
            max(sum(_wide(n) + PAD for n in layer) for layer in own.values()) for own in layers.values()
        )
        wide = max(wide, *(SMALL_LETTER * len(labels[dims]) + PAD for dims in column))
        for dims, own in layers.items():
            for row, layer in own.items():
                x = left + wide / 2 - sum(_wide(n) + PAD for n in layer) / 2
                for node in layer:
                    places[node] = (
                        x + (_wide(node) + PAD) / 2,
                        MARGIN + row * ROW + BOX / 2 + 6,
                        _wide(node),
                    )
                    x += _wide(node) + PAD
            top, bottom = MARGIN + min(own) * ROW, MARGIN + max(own) * ROW + BOX + LABEL + 10
            boxes[dims] = (left, top, left + wide, bottom)
        left += wide + 2 * MARGIN
    return places, boxes, left - MARGIN


def _wide(node):
    return LETTER * len(node) + 2 * PAD


def cost(places, parents, rows):
    """Return the length of all arrows, and a lot for each that passes behind the box of another variable."""
    total = 0.0
    for node, own in parents.items():
        for parent in own:
            (x0, y0, _), (x1, y1, _) = places[parent], places[node]
            total += abs(x1 - x0)
            for other, (x, y, wide) in places.items():
                if rows[parent] < rows[other] < rows[node]:
                    total += 1000 * (abs(x0 + (x1 - x0) * (y - y0) / (y1 - y0) - x) < wide / 2)
    return total


def kind_of(model, node):
    """Return whether a variable is observed or given, free, or computed."""
    variable = model[node]
    if variable in model.free_RVs:
        return "free"
    return "deterministic" if variable in model.deterministics else "observed"


def _box(node, place, kind):
    x, y, wide = place
    style = f"fill:var(--pst-color-background);{STYLE[kind]}"
    return (
        f'<rect x="{x - wide / 2:.1f}" y="{y - BOX / 2:.1f}" width="{wide:.1f}" height="{BOX}" rx="13" '
        f'stroke="currentColor" style="{style}"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(node)}</text>'
    )


def label_of(dims, model):
    """Return dims and their sizes."""
    if dims[0] is UNFRAMED:
        return ""
    sizes = " × ".join(str(int(model.dim_lengths[d].eval())) for d in dims)
    return f"{' × '.join(dims)} ({sizes})"


def _frame(box):
    left, top, right, bottom = box
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="4" fill="none" '
        'stroke="var(--pst-color-border)"/>'
    )


def _label(box, label):
    _, _, right, bottom = box
    return f'<text class="dims" x="{right - 6:.1f}" y="{bottom - 5:.1f}" text-anchor="end">{escape(label)}</text>'


def _arrow(start, end):
    (x0, y0, _), (x1, y1, _) = start, end
    return (
        f'<line x1="{x0:.1f}" y1="{y0 + BOX / 2:.1f}" x2="{x1:.1f}" y2="{y1 - BOX / 2 - 1:.1f}" stroke="currentColor" '
        'marker-end="url(#arrow)"/>'
    )
