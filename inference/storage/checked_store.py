"""Zarr store on the local disk that records a checksum of each file that it writes, and checks each that it reads."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from zarr.storage import LocalStore

from .checksums import HARMLESS, ROOT, STAMP, Checksums


class CheckedStore(LocalStore):
    """Local store with `checksums`; without them, a local store."""

    def __init__(
        self, root: Path | str, *, read_only: bool = False, checksums: Checksums | None = None
    ) -> None:
        super().__init__(root, read_only=read_only)
        self.checksums = checksums

    def with_read_only(self, read_only: bool = False) -> "CheckedStore":
        """Return the same store, read-only or not."""
        return type(self)(self.root, read_only=read_only, checksums=self.checksums)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """Read and check a file, also where only a range of its bytes is wanted."""
        found = await super().get(key, prototype)
        self._check(key, found)
        return found if byte_range is None else await super().get(key, prototype, byte_range)

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        """Read and check a file."""
        found = super().get_sync(key, prototype=prototype)
        self._check(key, found)
        return (
            found if byte_range is None else super().get_sync(key, prototype=prototype, byte_range=byte_range)
        )

    async def get_partial_values(self, prototype: Any, key_ranges: Any) -> list[Any]:
        """Read and check ranges of files."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the files and folders in a folder, but not the files of file managers, of which zarr warns."""
        async for name in super().list_dir(prefix):
            if name.lower() not in HARMLESS:
                yield name

    async def set(self, key: str, value: Any) -> None:
        """Record and write a file."""
        await super().set(key, self._recorded(key, value))

    def set_sync(self, key: str, value: Any) -> None:
        """Record and write a file."""
        super().set_sync(key, self._recorded(key, value))

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        """Record and write a file, if there is none."""
        if not await self.exists(key):
            await self.set(key, value)

    async def delete(self, key: str) -> None:
        """Remove a file."""
        self._forget(key)
        await super().delete(key)

    def delete_sync(self, key: str) -> None:
        """Remove a file."""
        self._forget(key)
        super().delete_sync(key)

    async def delete_dir(self, prefix: str) -> None:
        """Remove a folder."""
        self._forget(prefix.rstrip("/"))
        await super().delete_dir(prefix)

    def _check(self, key: str, found: Any) -> None:
        """Raise a `DamageError` unless a file is as it was written."""
        if self.checksums is not None:
            self.checksums.check(key, None if found is None else found.as_numpy_array())

    def _recorded(self, key: str, value: Any) -> Any:
        """Return the bytes to write, their checksum recorded; metadata are stamped."""
        if self.checksums is None:
            return value
        if key.endswith(ROOT):
            value = value.from_bytes(value.to_bytes() + STAMP)
        self.checksums.record(key, value.as_numpy_array())
        return value

    def _forget(self, removed: str) -> None:
        """Forget a file or folder that is removed while the store is made; later none is."""
        if self.checksums is not None:
            self.checksums.forget(removed)
