"""Looks at a driver's streams: counters, clients and their processes, logs and losses, joined. What `streams` and `backlog` show."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aerowire.base.directory import LOSS_REPORT_FILE_NAME
from aerowire.base.errors import StorageError
from aerowire.ipc.loss_report import read_loss
from aerowire.memory.region import Region
from aerowire.tools.driver.clients import Client, clients_of, with_processes
from aerowire.tools.driver.driver_files import DriverFiles, DriverState
from aerowire.tools.driver.log_files import log_metadata, log_path
from aerowire.tools.streams.stream_model import End, LogFacts, Publication, Streams, Subscriber, streams_of


@dataclass(frozen=True, slots=True)
class StreamsSeen:
    """The streams of one moment. `rates` are changes a second of the positions by the counters' identity, None the first time."""

    time_ms: int
    driver: DriverState
    streams: Streams
    clients: dict[int, Client]
    rates: dict[tuple[str, int], float] | None

    def client(self, client_id: int) -> Client:
        """Return a client, also one whose heartbeat is gone already."""
        return self.clients.get(client_id) or Client(client_id)

    def name_of(self, subscriber: Subscriber) -> str:
        """Return what a subscriber is called among people."""
        client = self.client(subscriber.client_id)
        pid = f", pid {client.pid_text}" if client.pids else ""
        return f"subscriber {subscriber.registration_id} ({client.title}{pid})"

    def rate(self, kind: str, identity: int) -> float | None:
        """Return the change a second of one position."""
        return None if self.rates is None else self.rates.get((kind, identity))

    def head(self) -> dict[str, Any]:
        """Return what every report for programs begins with."""
        return {"time_ms": self.time_ms, "aeron_dir": self.driver.aeron_dir, "pid": self.driver.pid, "driver": self.driver.state}


class StreamsLook:
    """Looks again and again; knows the positions of the last time, for the rates."""

    def __init__(self, nano_time: Callable[[], int] = time.monotonic_ns) -> None:
        self._nano_time = nano_time
        self._before: dict[tuple[str, int], int] = {}
        self._before_ns: int | None = None

    def __call__(self, files: DriverFiles) -> StreamsSeen:
        """Return the streams of now."""
        driver = files.state()
        counters = list(files.cnc().counters_reader().for_each())
        now_ns = self._nano_time()
        streams = streams_of(
            counters, log_facts=lambda registration_id: _log_facts(files.directory, registration_id), losses=_losses(files)
        )
        clients = with_processes(clients_of(counters), counters, files.directory, driver.pid)
        return StreamsSeen(time.time_ns() // 1_000_000, driver, streams, clients, self._rates(streams, now_ns))

    def _rates(self, streams: Streams, now_ns: int) -> dict[tuple[str, int], float] | None:
        positions = {identity: position for end in streams.ends for identity, position in _positions(end)}
        before, before_ns = self._before, self._before_ns
        self._before, self._before_ns = positions, now_ns
        if before_ns is None or now_ns <= before_ns:
            return None
        return {
            identity: (position - before[identity]) * 1e9 / (now_ns - before_ns)
            for identity, position in positions.items()
            if identity in before
        }


def _positions(end: End) -> list[tuple[tuple[str, int], int]]:
    found = [(("subscriber", subscriber.counter_id), subscriber.position) for subscriber in end.subscribers]
    found += [(("recording", recording.counter_id), recording.position) for recording in end.recordings]
    if isinstance(end, Publication):
        found.append((("publisher", end.registration_id), end.position))
        if end.sender_position is not None:
            found.append((("sender", end.registration_id), end.sender_position))
    else:
        found.append((("receiver", end.registration_id), end.position))
    return found


def _log_facts(aeron_dir: Path, registration_id: int) -> LogFacts | None:
    path = log_path(aeron_dir, registration_id)
    metadata = None if path is None else log_metadata(path)
    if metadata is None:
        return None
    return LogFacts(
        metadata.mtu,
        metadata.term_length,
        metadata.publication_window_length,
        metadata.receiver_window_length,
        metadata.end_of_stream_position,
    )


def _losses(files: DriverFiles) -> dict[tuple[int, int], tuple[int, int]]:
    found: dict[tuple[int, int], tuple[int, int]] = {}
    try:
        with Region.map_file(files.directory / LOSS_REPORT_FILE_NAME, writable=False) as region:
            entries = read_loss(region)
    except StorageError:
        return found  # a driver that keeps none, or one that is going
    for entry in entries:
        observations, lost = found.get((entry.session_id, entry.stream_id), (0, 0))
        found[entry.session_id, entry.stream_id] = (observations + entry.observation_count, lost + entry.total_bytes_lost)
    return found
