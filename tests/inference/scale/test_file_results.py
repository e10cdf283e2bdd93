"""Results that are handed over as files are what they were, and nothing is left behind."""

import contextlib
import gc
import os
import pickle
import signal
import threading
import time
import weakref
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
import xarray as xr
from raterzoo.inference.scale.processes import (
    LEAST,
    FileResult,
    Processes,
    call_with_file_result,
    loaded_future,
)
from raterzoo.inference.scale.workers import Workers


def large(n=2**20):
    """Return arrays of many kinds."""
    numbers = np.arange(n, dtype=np.float32)
    text = np.array(["a", "<b>", None], object)
    group = xr.Dataset({"x": ("draw", numbers), "y": ("draw", numbers > 3)}, attrs={"seed": 1})
    square = np.asfortranarray(numbers[:9].reshape(3, 3))
    return {"group": group, "text": text, "none": numbers[:0], "parts": [square, numbers[::2]]}


def assert_same(found, made):
    xr.testing.assert_identical(found["group"], made["group"])
    assert found["text"].tolist() == made["text"].tolist()
    assert found["none"].shape == (0,) and found["none"].dtype == np.float32
    for own, other in zip(found["parts"], made["parts"], strict=True):
        np.testing.assert_array_equal(own, other)


def test_a_parcel_is_what_was_packed(tmp_path):
    result = call_with_file_result(str(tmp_path), large)
    assert isinstance(result, FileResult) and len(pickle.dumps(result)) < LEAST
    (file,) = tmp_path.iterdir()
    found = result.load()
    assert not file.exists()
    assert_same(found, large())
    found["group"]["x"].to_numpy()[0] = 7  # as of any result


def test_a_file_with_other_numbers_is_not_taken_for_it(tmp_path):
    result = call_with_file_result(str(tmp_path), large)
    with open(result.file, "r+b") as file:
        file.seek(8)
        file.write(b"\x01")
    with pytest.raises(AssertionError):
        assert_same(result.load(), large())


def test_small_results_and_those_without_room_are_sent_as_they_are(tmp_path):
    assert call_with_file_result(str(tmp_path), abs, -3) == 3
    assert not list(tmp_path.iterdir())
    assert_same(call_with_file_result(str(tmp_path / "nowhere"), large), large())


def test_processes_hand_over_and_leave_nothing():
    with Processes(2) as workers:
        folder = workers._folder
        for future in [workers.submit(large) for _ in range(4)]:
            assert_same(future.result(), large())
        assert [process.pid for own in workers._processes for process in own] == workers.pids
        assert_same(workers.submit(large, n=9).result(), large(9))
        assert not list(folder.rglob("*.result"))
        left = folder / "0" / "left.result"
        left.write_bytes(b"of a process that died while it wrote")
        dying = workers.submit(os.kill, workers.pids[0], signal.SIGKILL)
        with pytest.raises(BrokenProcessPool):
            dying.result()
        for future in [workers.submit(large, n=9) for _ in range(2)]:
            assert_same(future.result(), large(9))
        assert not left.exists()
    assert not folder.exists()


def test_a_result_goes_when_nobody_holds_it():
    gc.disable()
    try:
        with Processes(1) as workers:
            result = workers.submit(large).result()
            held = weakref.ref(result["parts"][0])
            del result
            end = time.monotonic() + 10
            while held() is not None and time.monotonic() < end:
                time.sleep(0.01)
            assert held() is None
    finally:
        gc.enable()


def test_errors_and_cancelled_calls_are_told():
    with Processes(1) as workers:
        with pytest.raises(ZeroDivisionError):
            workers.submit(divmod, 1, 0).result()
        waiting = [workers.submit(large) for _ in range(40)]
        workers.shutdown(cancel_futures=True)
        with pytest.raises((CancelledError, BrokenProcessPool)):
            waiting[-1].result()


def test_a_call_that_is_cancelled_leaves_no_file(tmp_path):
    sent = Future()
    future = loaded_future(sent)
    sent.set_running_or_notify_cancel()
    assert future.cancel()
    sent.set_result(call_with_file_result(str(tmp_path), large))
    assert not list(tmp_path.iterdir())
    waiting = Future()
    assert loaded_future(waiting).cancel() and waiting.cancelled()
    waiting = Future()
    future = loaded_future(waiting)
    waiting.cancel()
    assert future.cancelled()


def ones(number):
    """Return what a pipe would take some time for."""
    return np.full(2**19, number, np.uint8)


def test_processes_that_are_killed_while_they_send_keep_nobody_waiting():
    sums = []
    with Processes(2) as workers:

        def work():
            results = Workers(workers, 2, most_tries=10**6).ordered(ones, ((k % 200,) for k in range(2000)))
            sums.extend(int(result[-1]) for result in results)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        rng = np.random.default_rng(1)
        for _ in range(25):
            time.sleep(rng.exponential(0.2))
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(workers.pids[0], signal.SIGKILL)
        worker.join(120)
        assert not worker.is_alive()
    assert sums == [k % 200 for k in range(2000)]
