"""Private parts of the storage of draws for tests, imported here alone."""

from raterzoo.inference.storage.journal import check_run, check_state, read_journal, write_journal
from raterzoo.inference.storage.posterior_files import read_posterior, write_posterior
from raterzoo.inference.storage.store import DrawStore, allocated, journal_of, read_draws, store_attrs

__all__ = [
    "DrawStore",
    "allocated",
    "check_run",
    "check_state",
    "journal_of",
    "read_draws",
    "read_journal",
    "read_posterior",
    "store_attrs",
    "write_journal",
    "write_posterior",
]
