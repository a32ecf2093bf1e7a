"""What sequences of operations have in common: our client, messages of one length with a number each, signals, what came of each operation.

What tests/interop/java/ArchiveWork.java is to the official client.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

from aerowire.archive import AeronArchive, RecordingSignalEvent
from aerowire.base.errors import ArchiveError
from aerowire.client import ExclusivePublication, Header, Publication, Subscription
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.support.waiting import rest, wait_until

# An operation and what comes of it; and the text of a refusal.
Outcome = tuple[str, str]
Told = tuple[str, str, str]


def told_by_peer(line: Mapping[str, str]) -> Told:
    """Return what an official client tells of an operation, without what each archive has of its own in the text of a refusal.

    Numbers are replaced, and the state of a replay.
    """
    text = re.sub(r"-?\d+", "N", " ".join(line["text"].lower().split()))
    return line["operation"], line["result"], re.sub(r"state=\w+", "state", text)


class ArchiveWork:
    """Operations that are done one after the other; `found` has the result or the error code of each.

    Results call recording `first` 0: an archive that others have used has recordings before it.
    """

    def __init__(self, connect: Callable[..., AeronArchive], *, message_length: int) -> None:
        self.found: list[Outcome] = []
        self.signals: list[str] = []
        self.first = 0
        self._message_length = message_length
        self.archive = connect(recording_signal_consumer=self._on_signal)
        self.aeron = self.archive.aeron

    def say(self, name: str, operation: Callable[..., object]) -> None:
        """Do an operation, and note what comes of it."""
        try:
            result = operation()
        except ArchiveError as error:
            self.found.append((name, f"error {error.error_code}"))
            return
        self.found.append((name, "done" if result is None else str(result).lower() if isinstance(result, bool) else str(result)))

    def positions(self, recording_id: int) -> str:
        """Ask for all positions of a recording at once."""
        archive = self.archive
        pending = [
            archive.async_get_start_position(recording_id),
            archive.async_get_recording_position(recording_id),
            archive.async_get_stop_position(recording_id),
            archive.async_get_max_recorded_position(recording_id),
        ]
        self.until("positions", lambda: all(one.poll() for one in pending))
        return " ".join(str(one.result()) for one in pending)

    def received(self, subscription: Subscription) -> str:
        """Read a replay to its end, and return how many messages there were, and the sum of their numbers."""
        numbers: list[int] = []

        def take(buffer: memoryview, offset: int, _length: int, _header: Header) -> None:
            numbers.append(struct.unpack_from("<i", buffer, offset)[0])

        with subscription:
            self.until("a replay", lambda: subscription.is_connected)
            wait_until(
                lambda: subscription.poll(take, 10) == 0 and all(image.is_end_of_stream for image in subscription.images),
                "the end of a replay",
            )
        return f"{len(numbers)} {sum(numbers)}"

    def publish(self, publication: Publication | ExclusivePublication, count: int) -> None:
        """Publish messages with the numbers from 0 on."""
        for number in range(count):
            publication.send(struct.pack("<i", number).ljust(self._message_length, b"\0"), timeout_ns="60s")

    def recorded(self, recording_id: int, position: int) -> None:
        """Wait until a recording exists, and has come to a position."""

        def is_recorded() -> bool:
            try:
                return self.archive.get_recording_position(recording_id) >= position
            except ArchiveError:
                return False

        self.until(f"recording {recording_id}", is_recorded)

    def until(self, what: str, condition: Callable[[], Any]) -> None:
        """Wait, and hear signals meanwhile."""
        wait_until(condition, lambda: f"{what}; signals {self.signals}", work=self._work)

    def in_time(self, operation: Callable[[], int], code: ArchiveErrorCode | None = None) -> int:
        """Do an operation as soon as the archive no longer refuses it: replays that are stopped end in its next cycles.

        With `code`, a refusal with another one is raised.
        """
        results: list[int] = []

        def succeeds() -> bool:
            try:
                results.append(operation())
            except ArchiveError as error:
                if code not in {None, error.error_code}:
                    raise
                return False
            return True

        self.until("an operation", succeeds)
        return results[0]

    def await_signals(self, *names: str) -> None:
        """Wait for signals of these names."""
        self.until(f"{names}", lambda: set(names) <= {text.split()[0] for text in self.signals})

    def take_signals(self, name: str, awaited: str) -> None:
        """Wait for a signal, and note all that came."""
        self.await_signals(awaited)
        self.say(f"signals of {name}", lambda: ", ".join(sorted(self.signals)))
        self.signals.clear()

    def _on_signal(self, event: RecordingSignalEvent) -> None:
        self.signals.append(f"{event.signal.name} {event.recording_id - self.first} {event.position}")

    def _work(self) -> None:
        if self.archive.poll() == 0:
            rest()
