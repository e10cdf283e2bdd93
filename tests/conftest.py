"""What all tests share."""

import signal

import pytest


@pytest.fixture(autouse=True)
def ctrl_c():
    """Let Ctrl-C raise KeyboardInterrupt, also where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
