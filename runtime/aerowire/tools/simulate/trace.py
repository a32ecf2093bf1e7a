"""A trace of a simulated world, as text: a line for each event of its hosts, and for each thing that happens to a packet."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from aerowire.simulation.network import SimulatedNetwork
    from aerowire.simulation.packet_trace import PacketLog, PacketRecord

# Of each world: some tens of packets a simulated second for a minute, and the worst ones' last.
_PACKETS_MAX = 1 << 18


class Trace:
    """Writes to a file, or nothing where there is none: events as they happen, at the end what is kept of packets, the last ones."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._log: PacketLog | None = None

    def event(self, line: str) -> None:
        """Write an event of a host."""
        if self._file is not None:
            self._file.write(f"{line}\n")

    def follow(self, network: SimulatedNetwork) -> None:
        """Keep what happens to packets from now on."""
        if self._file is not None:
            from aerowire.simulation.packet_trace import PacketLog

            self._log = PacketLog(_PACKETS_MAX)
            network.add_trace(self._log)

    def _packets(self) -> None:
        if self._file is None or self._log is None:
            return
        records = self._log.records()
        if self._log.count > len(records):
            self._file.write(f"... {self._log.count - len(records):,} earlier events of packets\n")
        for record in records:
            self._file.write(f"{_line(record)}\n")

    def __enter__(self) -> Self:
        if self._path is not None:
            self._file = self._path.open("w", encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not None:
            with self._file:
                self._packets()


def _line(record: PacketRecord) -> str:
    source, target = (f"{host}:{port}" for host, port in (record.source, record.target))
    what = f"packet {record.number} {record.fate.name.lower()} {source} -> {target}"
    return f"{record.time_ns} {what} {record.length} bytes {record.payload[:32].hex()}"
