"""What has been simulated: a line of JSON for each seed, in a file that is only ever appended to."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from aerowire.base.errors import ConfigurationError

PASSED, FAILED, RAISED = "passed", "failed", "raised"


@dataclass(frozen=True, slots=True)
class Entry:
    """The outcome of a seed: PASSED, FAILED with the rule that was broken, or RAISED with what a scenario or checker raised."""

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


class Ledger:
    """A file of entries, or none that is kept. Those of other versions are left alone."""

    def __init__(self, path: Path | None, version: str) -> None:
        """Read what is there. Raises ConfigurationError for a file that is no ledger."""
        self._path = path
        self._version = version
        self._known: dict[tuple[str, int], Entry] = {}
        if path is not None and path.exists():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    entry = Entry(**json.loads(line))
                except (ValueError, TypeError) as error:
                    raise ConfigurationError("not a ledger of simulations", where=f"{path}:{number}", actual=str(error)) from None
                if entry.version == version:
                    self._known[entry.scenario, entry.seed] = entry

    def find(self, scenario: str, seed: int) -> Entry | None:
        """Return what is known of a seed in this version."""
        return self._known.get((scenario, seed))

    def add(self, entry: Entry) -> None:
        """Append an entry: one write of a whole line, so that no half of one is ever there."""
        self._known[entry.scenario, entry.seed] = entry
        if self._path is None:
            return
        line = json.dumps(asdict(entry), ensure_ascii=False) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
