"""Files of journals, legal and spoilt: what goes on with a run reads them."""

import functools
import io
import json
import random
import tempfile
from pathlib import Path

import numpy as np

from tests.support.fuzz_mutations import spoil_bytes
from tests.support.fuzz_posteriors import HOSTILE, spoil_json
from tests.support.stores import write_journal

__all__ = ["JOURNALS", "npz", "spoil_journal", "written_journal"]

ATTRIBUTES = {
    "model": "dirichlet",
    "method": "exact",
    "method_reason": "conjugate",
    "seed": 5,
    "versions": json.dumps({"python": "3.13.1", "raterzoo": "0.1.0"}),
    "schema_version": 1,
}
PLAN = {
    "draws": 24, "tune": 3, "chains": 2, "cores": None, "seed": 5, "progressbar": False, "thin": 2, "dtype": "float32",
    "densities": True,
}  # fmt: skip
RECIPE = {"builder": "dirichlet", "arguments": {"concentration": {"array": "recipe_0"}}}
NOTE = {"plan": PLAN, "piece": 4, "recipe": RECIPE, "fingerprint": "0" * 32, "attributes": ATTRIBUTES}
OF_NUTS = {"options": {"target_accept": 0.9}, "sampler": "pymc"}
NUTS = NOTE | OF_NUTS | {"attributes": ATTRIBUTES | {"method": "nuts"}}
ARRAYS = {"recipe_0": np.ones((2, 3)), "found_thinning": np.array(2)}
STATE = {"drawn": 12, "seconds": 0.5, "number": 3, "warned": 1, "first": "item a"}

JOURNALS = {
    "run": (NOTE, ARRAYS),
    "nuts": (NUTS, ARRAYS),
    "state": (STATE, {"done": np.array([True, False]), "names": np.array(["a", "bc"])}),
}


@functools.cache
def written_journal(kind: str) -> bytes:
    """Return a legal file."""
    with tempfile.TemporaryDirectory() as name:
        write_journal(Path(name) / "file.npz", *JOURNALS[kind])
        return (Path(name) / "file.npz").read_bytes()


def npz(note, *, save=np.savez, **arrays) -> bytes:
    """Return a file of any note and arrays."""
    file = io.BytesIO()
    save(file, note=np.array(json.dumps(note)), **arrays)
    return file.getvalue()


def spoil_journal(kind: str, rng: random.Random) -> bytes:
    """Return a file of which the note, a header or a few bytes are spoilt."""
    note, arrays = json.loads(json.dumps(JOURNALS[kind][0])), JOURNALS[kind][1]
    if rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 2))):
            spoil_json(note, rng)
        return npz(rng.choice(HOSTILE) if rng.random() < 0.05 else note, **arrays)
    whole = written_journal(kind)
    if rng.random() < 0.3:
        number, other = rng.choice(((b"(2", b"(9"), (b"<f8", b"|O8"), (b"<i8", b"<i1"), (b"(", b"[")))
        return whole.replace(number, other)
    return spoil_bytes(whole, rng, written_journal(rng.choice([*JOURNALS])))
