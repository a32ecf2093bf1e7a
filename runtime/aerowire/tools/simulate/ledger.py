"""What has been simulated: a line of JSON for each seed, in a file that is only ever appended to."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Self

from aerowire.base.errors import ConfigurationError

PASSED, FAILED, RAISED, LOST = "passed", "failed", "raised", "lost"


@dataclass(frozen=True, slots=True)
class Entry:
    """The outcome of a seed: PASSED, FAILED with the rule that was broken, RAISED with what was raised, or LOST with its process."""

    scenario: str
    seed: int
    version: str
    outcome: str
    steps: int
    simulated_s: float
    packets: int
    messages: int
    digest: str
    told: str = ""


_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}
_FIELDS = {field.name: _TYPES[str(field.type)] for field in fields(Entry)}


class Ledger:
    """A file of entries, or none that is kept. Those of other versions are left alone. Closed at the end of a `with`."""

    def __init__(self, path: Path | None, version: str) -> None:
        """Read what is there, and make sure that it can be added to. Raises ConfigurationError for a file that is no ledger, OSError."""
        self._path = path
        self._version = version
        self._known: dict[tuple[str, int], Entry] = {}
        self._descriptor = -1 if path is None else os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def find(self, scenario: str, seed: int) -> Entry | None:
        """Return what the file had of a seed in this version."""
        return self._known.get((scenario, seed))

    def known(self, scenarios: list[str], seeds: range) -> list[Entry]:
        """Return what the file had of some seeds of some scenarios in this version."""
        return [entry for (scenario, seed), entry in self._known.items() if scenario in scenarios and seed in seeds]

    def add(self, entry: Entry) -> None:
        """Append an entry, the whole line or nothing; one that is LOST has no place here. Raises OSError when it cannot be written."""
        if self._descriptor < 0 or entry.outcome == LOST:
            return
        line = json.dumps(asdict(entry), ensure_ascii=False).encode() + b"\n"
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # others may add to the same file
        try:
            length = os.fstat(self._descriptor).st_size
            self._write(line, length)
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _write(self, line: bytes, length: int) -> None:
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._descriptor, left) :]
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, length)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self._path)) from None
            raise

    def _read(self) -> None:
        if self._descriptor < 0:
            return
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise ConfigurationError("not a ledger of simulations", where=self._path, expected="a file", actual="something else")
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            for number, line in enumerate(file, 1):
                entry = self._entry(line, f"{self._path}:{number}")
                if entry is not None:
                    self._known[entry.scenario, entry.seed] = entry

    def _entry(self, line: bytes, where: str) -> Entry | None:
        """Return the entry of a line, None where it is of another version."""
        hint = "take the line out, and its seed is run again"
        if not line.endswith(b"\n"):
            raise ConfigurationError("the last line of the ledger is not whole", where=where, hint=hint)
        try:
            values = json.loads(line)
        except ValueError as error:
            raise ConfigurationError("not a ledger of simulations", where=where, actual=error, hint=hint) from None
        if not isinstance(values, dict) or not isinstance(values.get("version"), str):
            raise ConfigurationError("not a ledger of simulations", where=where, expected="an entry with a version", hint=hint)
        if values["version"] != self._version:
            return None
        wrong = [name for name, kind in _FIELDS.items() if type(values.get(name)) not in kind]
        wrong += [name for name in values if name not in _FIELDS]
        if wrong:
            actual = f"wrong: {', '.join(wrong)}"
            raise ConfigurationError("not an entry of a ledger", where=where, expected="each of its fields", actual=actual, hint=hint)
        return Entry(**values)
