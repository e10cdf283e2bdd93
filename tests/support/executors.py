"""Executors without workers: they do a task when it is submitted, and may end the driver after so many."""

from concurrent.futures import Future


class InThisProcess:
    """Does tasks at once."""

    count = 1

    def __init__(self):
        self.done = 0

    def submit(self, function, *arguments):
        self.done += 1
        future = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class Stopped(Exception):
    """The driver ends."""


class Stops(InThisProcess):
    """Ends the driver after so many tasks."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def submit(self, function, *arguments):
        if self.done == self.most:
            raise Stopped
        return super().submit(function, *arguments)
