"""System counters of a running driver, read from its directory."""

from __future__ import annotations

from pathlib import Path

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.ipc.cnc import CncFile


def read_system_counters(directory: Path) -> dict[SystemCounter, int]:
    cnc = CncFile.map(str(directory / CNC_FILE_NAME), writable=False)
    try:
        reader = cnc.counters_reader()
        return {counter: reader.value(counter.value) for counter in SystemCounter}
    finally:
        cnc.close()
