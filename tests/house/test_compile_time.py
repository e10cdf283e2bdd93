"""Compiled kernels copy arrays by loops.

For ``a[d] = b`` and ``a[:] = b``, where b is an array, numba compiles NumPy's message about shapes that differ: seconds for each
place. `copy_into` of `models/distributions/vector_math.py` is a loop. Read from the source, so that only assignments with a
slice are found; whether a name is an array is unknown there.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = sorted(
    path
    for package in ("models", "inference", "evaluation")
    for path in (ROOT / package).rglob("*.py")
    if path.parent.name == "kernels" or path.stem.endswith("_kernels")
)
ALLOWED = {
    "maximise_worth: here[:] = 1.0 / (last - first)"  # a number
}


def has_slice(node):
    return isinstance(node, ast.Subscript) and any(
        isinstance(part, ast.Slice) for part in ast.walk(node.slice)
    )


def is_number(node):
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Attribute) and node.attr in ("nan", "inf"))


def pairs_of(target, value):
    """Yield targets with their values, also of ``a[:], b[:] = c, d``; the value is None if it is part of one result."""
    if not isinstance(target, ast.Tuple):
        yield target, value
        return
    values = value.elts if isinstance(value, ast.Tuple) else [None] * len(target.elts)
    for own in zip(target.elts, values, strict=True):
        yield from pairs_of(*own)


def copies_of(source):
    """Return "function: statement" of compiled functions that assign to a slice, or a slice to an element or a row."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        if not any("njit" in ast.unparse(decorator) for decorator in function.decorator_list):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign):
                continue
            own = [pair for target in node.targets for pair in pairs_of(target, node.value)]
            if any(
                isinstance(target, ast.Subscript)
                and (has_slice(target) or has_slice(value))
                and not is_number(value)
                for target, value in own
            ):
                found.append(f"{function.name}: {ast.unparse(node)}")
    return found


def test_kernels_copy_arrays_by_loops():
    assert len(KERNELS) > 20
    found = {copy for path in KERNELS for copy in copies_of(path.read_text("utf-8"))}
    assert found <= ALLOWED, f"copy by a loop, such as copy_into: {sorted(found - ALLOWED)}"
    assert found == ALLOWED, f"no longer there: {sorted(ALLOWED - found)}"


@pytest.mark.parametrize(
    ("statement", "is_copy"),
    [
        ("a[:] = b", True),
        ("a[d, 1:] = b + c", True),
        ("a[d] = b[:, k]", True),
        ("a[:], n = f(b)", True),
        ("x, a[:] = 0, b", True),
        ("a[:] = 0.0", False),
        ("a[n:] = -np.inf", False),
        ("a[d], b[:n] = np.nan, np.nan", False),
        ("a = b[:n]", False),
        ("a[d] = b[k]", False),  # perhaps an array
        ("a[:n] /= b", False),
    ],
)
def test_copies_are_found(statement, is_copy):
    source = f"@inner_njit(inline='always')\ndef kernel(a, b, c, d):\n    if d:\n        {statement}\n"
    assert bool(copies_of(source)) == is_copy
    assert not copies_of(source.replace("@inner_njit(inline='always')\n", ""))  # Python
