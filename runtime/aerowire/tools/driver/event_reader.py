"""Reads a driver's event log along: what was noted, in order, and how much was missed.

Knows the file and its records; nothing of how they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.base.directory import EVENT_LOG_FILE_NAME
from aerowire.base.errors import AerowireError, BroadcastLappedError, MappedFileMissingError
from aerowire.codecs.flyweights.commands import COMMAND_DECODERS, CommandType
from aerowire.codecs.flyweights.events import (
    CommandEventDecoder,
    DriverEventCode,
    FrameEventDecoder,
    LoggedEventDecoder,
    ReceiverEventDecoder,
    ResendEventDecoder,
    RevokeEventDecoder,
    StateEventDecoder,
)
from aerowire.codecs.flyweights.transport import FRAME_DECODERS, FrameHeaderDecoder, FrameType

if TYPE_CHECKING:
    from aerowire.ipc.broadcast import BroadcastReceiver
    from aerowire.memory.region import Region

_FRAMES = {DriverEventCode.FRAME_IN, DriverEventCode.FRAME_OUT, DriverEventCode.NAK_SENT, DriverEventCode.NAK_RECEIVED}
# Those of an agent's that have fields of their own.
_OF_STREAMS: dict[DriverEventCode, type[ResendEventDecoder | ReceiverEventDecoder | RevokeEventDecoder]] = {
    DriverEventCode.RESEND: ResendEventDecoder,
    DriverEventCode.FLOW_CONTROL_RECEIVER_ADDED: ReceiverEventDecoder,
    DriverEventCode.FLOW_CONTROL_RECEIVER_REMOVED: ReceiverEventDecoder,
    DriverEventCode.PUBLICATION_REVOKE: RevokeEventDecoder,
    DriverEventCode.PUBLICATION_IMAGE_REVOKE: RevokeEventDecoder,
}
_HEAD = {"sequence", "timestamp_ns", "channel_length"}
# Of one look, so that a flood does not keep the reader from looking whose the log is.
POLL_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `facts` are its fields by name; `missed` counts the events before it that were overwritten unread."""

    code: DriverEventCode
    sequence: int
    timestamp_ns: int
    facts: dict[str, Any]
    missed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "time_ns": self.timestamp_ns,
            "event": self.code.name,
            "sequence": self.sequence,
            **({"missed": self.missed} if self.missed else {}),
            **self.facts,
        }


class EventReader:
    """The event log of the driver that is in a directory now. Belongs to one thread.

    Invariant: `_next_sequence` is that of the event that follows the last one read.
    """

    def __init__(self, aeron_dir: str, *, from_start: bool) -> None:
        """`from_start`: with what was noted before, as far as it is not overwritten. Raises AerowireError where there is no log."""
        self._path = Path(aeron_dir) / EVENT_LOG_FILE_NAME
        self._from_start = from_start
        self._region: Region | None = None
        self._identity = (0, 0)
        self._next_sequence = -1
        self._receiver = self._open()
        if not from_start:
            self._pass_over_the_last()

    def poll(self) -> list[Event]:
        """Return what was noted since the last call, in order."""
        return [event for record in self._records(POLL_LIMIT) if (event := self._event(*record)) is not None]

    def _records(self, limit: int) -> list[tuple[int, bytes]]:
        while True:
            try:
                return self._receiver.poll(limit)
            except BroadcastLappedError:  # the events themselves tell how many are missed
                continue

    def _pass_over_the_last(self) -> None:
        """A receiver begins at the newest event there is; of that only the sequence is wanted, for what is missed later."""
        for record in self._records(1):
            self._event(*record)

    def follow(self) -> bool:
        """Change to the log of another driver that has taken the directory; return whether there is one."""
        try:
            if _identity_of(self._path) == self._identity:
                return False
            self._from_start = True
            self._receiver = self._open()
        except (OSError, AerowireError):
            return False
        return True

    def close(self) -> None:
        """Let go of the file."""
        if self._region is not None:
            self._region.close()

    def _open(self) -> BroadcastReceiver:
        from aerowire.ipc.broadcast import BroadcastReceiver
        from aerowire.memory.region import Region

        try:
            identity = _identity_of(self._path)
            region = Region.map_file(self._path, writable=False)
        except (FileNotFoundError, MappedFileMissingError):
            raise AerowireError(
                "there is no event log",
                where=self._path,
                expected="a driver that notes events",
                hint="start it with -Daeron.event.log=admin, or all",
            ) from None
        self.close()
        self._region, self._identity = region, identity
        self._next_sequence = 0 if self._from_start else -1
        return BroadcastReceiver(region, from_start=self._from_start)

    def _event(self, code: int, body: bytes) -> Event | None:
        try:
            kind = DriverEventCode(code)
            head = LoggedEventDecoder(body)
            facts = _facts(kind, body)
        except ValueError:
            return None  # of a driver that knows more than this reader
        sequence = head.sequence
        missed = sequence - self._next_sequence if self._next_sequence >= 0 else 0
        self._next_sequence = sequence + 1
        return Event(kind, sequence, head.timestamp_ns, facts, missed)


def _identity_of(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _facts(kind: DriverEventCode, body: bytes) -> dict[str, Any]:
    if kind in _FRAMES:
        return _frame_facts(FrameEventDecoder(body))
    if kind.name.startswith("CMD_"):
        return _command_facts(CommandEventDecoder(body))
    if kind in _OF_STREAMS:
        return {name: value for name, value in _OF_STREAMS[kind](body).to_dict().items() if name not in _HEAD}
    import json

    return dict(json.loads(StateEventDecoder(body).text))


def _frame_facts(event: FrameEventDecoder) -> dict[str, Any]:
    import ipaddress

    frame = bytes(event.frame)
    packed = bytes(event.address)[: event.address_length]
    facts: dict[str, Any] = {"address": None, "length": event.datagram_length}
    if packed:
        address = ipaddress.ip_address(packed)
        facts["address"] = f"[{address}]:{event.port}" if address.version == 6 else f"{address}:{event.port}"
    try:
        kind = FrameType(FrameHeaderDecoder(frame).type)
        facts["type"] = kind.name
        facts["frame"] = {name: _plain(value) for name, value in FRAME_DECODERS[kind](frame).to_dict().items() if name not in _REPEATED}
    except (ValueError, KeyError):
        facts["bytes"] = frame.hex()  # not a frame, or more of it than was kept
    return facts


# What every frame has, or what was said before.
_REPEATED = {"version", "type", "payload"}


def _command_facts(event: CommandEventDecoder) -> dict[str, Any]:
    command = bytes(event.command)
    facts: dict[str, Any] = {"length": event.command_length}
    try:
        kind = CommandType(event.command_type)
        facts["command"] = {name: _plain(value) for name, value in COMMAND_DECODERS[kind](command).to_dict().items()}
    except (ValueError, KeyError):
        facts["bytes"] = command.hex()
    return facts


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else int(value) if isinstance(value, int) else value
