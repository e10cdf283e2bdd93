"""Journals that say what no run left: refused by one message that names the file, before anything of that size is allocated."""

import io
import random
import zipfile

import numpy as np
import pytest

from tests.support.fuzz_doors import JOURNAL_DOORS, judged
from tests.support.fuzz_journals import JOURNALS, npz, spoil_journal, written_journal
from tests.support.json_values import without
from tests.support.stores import check_state, read_journal

NOTE, ARRAYS = JOURNALS["run"]
STATE, DONE = JOURNALS["state"]


def said(tmp_path, kind, content):
    path = tmp_path / f"{kind}.npz"
    path.write_bytes(content)
    return judged(JOURNAL_DOORS[kind], path)


@pytest.mark.parametrize("kind", JOURNAL_DOORS)
def test_what_is_kept_is_read(tmp_path, kind):
    assert said(tmp_path, kind, written_journal(kind)) == "valid"
    assert kind in JOURNALS
    without_version = npz(JOURNALS[kind][0], **JOURNALS[kind][1])
    assert said(tmp_path, kind, without_version) == "valid"  # as 0.1.0 wrote it


@pytest.mark.parametrize("kind", JOURNAL_DOORS)
def test_journals_that_a_fuzzer_spoils(tmp_path, kind):
    rng, outcomes = random.Random(kind), set()
    for _ in range(150):
        outcomes.add(said(tmp_path, kind, spoil_journal(kind, rng)))
    assert len(outcomes) > 10


def member(descr="<f8", shape="(1000000000000,)", body=b"\0" * 8):
    """Return an array whose header says what it likes."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def with_member(content, compression=zipfile.ZIP_STORED, name="x.npy"):
    file = io.BytesIO(npz(STATE))
    with zipfile.ZipFile(file, "a", compression) as archive:
        archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    "content, words",
    [
        (member(), "'x.npy' declares 1000000000000 numbers, and 8 bytes are there"),
        (member(shape="(" + "999999999999999999, " * 400 + ")"), "declares"),
        (member("<U99999999", "()"), "'x.npy' declares"),
        (member("<U0"), "'x.npy' declares"),
        (member("|O", "(1,)"), "no array of numbers or text"),
        (member("<c16", "(1,)"), "no array of numbers or text"),
        (member("<f8", "(" * 5_000), "no array of numbers or text"),
        (member("<f8", "(-1,)"), "no array of numbers or text"),
        (b"\x80\x04cos\nsystem\n(S'exit 1'\ntR.", "no array of numbers or text"),
        (b"", "no array of numbers or text"),
    ],
)
def test_members_that_are_refused(tmp_path, content, words):
    assert words in said(tmp_path, "state", with_member(content))


def test_members_that_are_compressed_or_no_arrays(tmp_path):
    """A thousandth of the memory that they would fill."""
    zeros = np.zeros(100_000_000 // 8)
    compressed = npz(STATE, save=np.savez_compressed, x=zeros)
    assert len(compressed) < 200_000
    assert "a member is compressed" in said(tmp_path, "state", compressed)
    assert "a member is no array" in said(tmp_path, "state", with_member(member(), name="x.pkl"))


def test_members_that_lie_in_each_other(tmp_path):
    """Many entries of one member: each is as large as the file."""
    whole = with_member(member("|u1", "(100000,)", b"\0" * 100_000))
    archive = zipfile.ZipFile(io.BytesIO(whole))
    start, entry = archive.start_dir, archive.getinfo("x.npy")
    directory = whole[start : whole.rindex(b"PK\x05\x06")]
    own = directory[directory.rindex(b"PK\x01\x02") :]
    assert b"x.npy" in own and entry.file_size > 100_000
    copies = directory + own * 50
    size = len(copies).to_bytes(4, "little") + start.to_bytes(4, "little")
    counts = (52).to_bytes(2, "little") * 2
    ended = whole[:start] + copies + b"PK\x05\x06\0\0\0\0" + counts + size + b"\0\0"
    assert "its members declare" in said(tmp_path, "state", ended)


def changed(note, **values):
    """Return a note with other values in its plan or its attributes."""
    inner = "attributes" if values.keys() & {"versions", "method", "further"} else "plan"
    return note | {inner: note[inner] | values}


NOTES = {
    "no plan": (without(NOTE, "plan"), "there is no 'plan'"),
    "a list": ([NOTE], "no mapping"),
    "a plan of text": (NOTE | {"plan": "x"}, "'plan' is 'x', not a mapping"),
    "no draws": (without(NOTE, "plan", "draws"), "plan: there is no 'draws'"),
    "a key too many": (changed(NOTE, extra=1), "plan: 'extra' is unknown"),
    "draws of another store": (changed(NOTE, draws=400_000), "draws is 400000, and the store has 24"),
    "chains of another store": (changed(NOTE, chains=10**9), "chains is 1000000000, and the store has 2"),
    "half a chain": (changed(NOTE, chains=0.5), "'chains' is 0.5, not a whole number from 1"),
    "another kind": (changed(NOTE, dtype="object"), "'dtype' is 'object'"),
    "pieces of nothing": (NOTE | {"piece": 0}, "'piece' is 0, not a whole number from 1"),
    "a recipe of text": (NOTE | {"recipe": "x"}, "'recipe' is 'x'"),
    "no method": (without(NOTE, "attributes", "method"), "attributes: there is no 'method'"),
    "no versions": (changed(NOTE, versions="[]"), "attributes: 'versions' is '[]'"),
    "versions that steer": (changed(NOTE, versions='{"numba": "\\u001b[31m"}'), "'versions' is"),
    "a list as attribute": (changed(NOTE, further=[1]), "'further' is [1], not a number or text"),
    "NUTS without its own": (changed(NOTE, method="nuts"), "there is no 'options'"),
    "options": (JOURNALS["nuts"][0] | {"options": {"zarr_store": "x"}}, "options: 'zarr_store' is unknown"),
    "another sampler": (JOURNALS["nuts"][0] | {"sampler": "x"}, "'sampler' is 'x', not 'nutpie' or 'pymc'"),
    "newer": (NOTE | {"journal_version": 2}, "journal_version 2; this version of raterzoo resumes version 1"),
    "no version": (NOTE | {"journal_version": "1"}, "journal_version '1'"),
}  # fmt: skip


@pytest.mark.parametrize("what", NOTES)
def test_notes_of_runs_that_are_refused(tmp_path, what):
    note, words = NOTES[what]
    message = said(tmp_path, "run", npz(note, **ARRAYS))
    assert words in message and "run.npz" in message
    assert "start anew with another store" in message or "install the newer one" in message


@pytest.mark.parametrize(
    "values, words",
    [
        ({"drawn": 25}, "it counts 25 draws, but the store has 24"),
        ({"drawn": -1}, "'drawn' is -1"),
        ({"drawn": True}, "'drawn' is True"),
        ({"seconds": float("nan")}, "'seconds' is nan"),
        ({"first": 3}, "'first' is 3"),
    ],
)
def test_states_that_are_refused(tmp_path, values, words):
    assert words in said(tmp_path, "state", npz(STATE | values, **DONE))
    assert "'done'" in said(tmp_path, "state", npz(STATE, done=np.ones(2)))


def test_states_of_other_items_are_refused(tmp_path):
    path = tmp_path / "state.npz"
    path.write_bytes(npz(STATE, **DONE))
    note, arrays = read_journal(path)
    check_state(path, note, arrays, {"draw": 24, "item": 2})
    with pytest.raises(ValueError, match="'done' is not one truth value for each item"):
        check_state(path, note, arrays, {"draw": 24, "item": 3})
