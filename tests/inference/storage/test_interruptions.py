"""Signals of a run: the first is deferred, the second delivered, and what the caller does with them stays his."""

import signal

import pytest
from raterzoo.inference.storage import interruptions

ADVICE = interruptions.Advice("all is kept", "call again", "type again")


@pytest.fixture
def handler_of():
    """Set the handlers of a test."""
    before = {number: signal.getsignal(number) for number in interruptions.SIGNALS}
    yield signal.signal
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", interruptions.SIGNALS)
def test_a_handler_that_does_not_raise_gets_both_signals(number, handler_of):
    calls = []
    handler_of(number, lambda n, _: calls.append(n))
    with interruptions.Interruptions(lambda: ADVICE) as run:
        signal.raise_signal(number)
        assert not calls and run.asked == number
        signal.raise_signal(number)
        assert calls == [number]
    assert calls == [number, number]


@pytest.mark.parametrize("number", interruptions.SIGNALS)
def test_an_ignored_signal_is_ignored(number, handler_of):
    handler_of(number, signal.SIG_IGN)
    with interruptions.Interruptions(lambda: ADVICE) as run:
        signal.raise_signal(number)
        signal.raise_signal(number)
    assert run.asked is None and signal.getsignal(number) is signal.SIG_IGN


def test_a_second_signal_that_a_handler_takes_leaves_the_advice(handler_of, golden):
    """The handler of the second signal lets Ctrl-C raise again."""
    handler_of(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, signal.default_int_handler))
    with golden.raises(interruptions.Interrupted):
        with interruptions.Interruptions(lambda: ADVICE):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
