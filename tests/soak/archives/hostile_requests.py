"""Requests to an archive that a hostile client draws from a seed: valid ones with extreme values, and messages that are none."""

from __future__ import annotations

import enum
import random
import struct
import typing
from collections.abc import Sequence
from typing import Any

from aerowire.archive.control.request_routes import ROUTES
from aerowire.archive.protocol_version import PROTOCOL_VERSION
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.archive.header import HEADER
from tests.support.hostile.values import CHANNELS, INT32S, INT64S, IPC, LENGTHS, damaged

# Requests about everything, which a session may make, and by which all other clients would be touched.
_ABOUT_ALL = {"StopAllReplaysRequest"}
# Ids that the archive and its driver give out: a small one may be that of another client, whose recording it would stop.
_IDS_OF_OTHERS = {"subscription_id", "replay_session_id", "replication_id"}
ID_MIN = 1 << 31
_SCHEMA_ID = archive.AuthConnectRequestDecoder.SBE_SCHEMA_ID
_MESSAGES = [route.message for route in ROUTES.values()]
_HINTS = {message: typing.get_type_hints(message) for message in _MESSAGES}


class HostileRequests:
    """Draws messages. `recordings` are ids that may be asked about; all others that are drawn exist nowhere."""

    def __init__(self, seed: int, source_channel: str) -> None:
        self.dice = random.Random(seed)
        self.recordings: list[int] = [-2, 1 << 40, 2**63 - 1, -(2**63)]
        self.sessions: list[int] = []
        self.channels = (*CHANNELS, source_channel, source_channel)
        self._correlation_id = 1

    def connect(self, response_stream_id: int) -> bytes:
        """Return a request for a session that is served."""
        return self._connect(response_stream_id, PROTOCOL_VERSION, IPC)

    def bad_connect(self) -> bytes:
        """Return a request for a session that is not served, or whose responses go astray."""
        dice = self.dice
        version = dice.choice((PROTOCOL_VERSION, 0, -1, 2**31 - 1, 1 << 16, 2 << 16))
        return self._connect(dice.choice(INT32S), version, dice.choice(self.channels))

    def request(self) -> bytes:
        """Return a request that can be decoded, with values that are drawn."""
        message = self.dice.choice(_MESSAGES)
        values = {name: self._value(message, name, hint) for name, hint in _HINTS[message].items() if not name.startswith("_")}
        encoded: bytes = message(**values).encode()
        return encoded

    def message(self) -> bytes:
        """Return a message that is damaged somewhere, or is none at all."""
        dice = self.dice
        data = self.request()
        if dice.randrange(7) > 0:
            return damaged(dice, data, _SCHEMA_ID)
        changed = bytearray(data)  # of a session that is not its own, or of none
        struct.pack_into("<q", changed, HEADER.size, dice.choice((0, -1, 2**63 - 1, dice.getrandbits(40))))
        return bytes(changed)

    def _connect(self, response_stream_id: int, version: int, channel: str) -> bytes:
        return archive.AuthConnectRequest(
            correlation_id=self._next_correlation_id(),
            response_stream_id=response_stream_id,
            version=version,
            response_channel=channel,
            encoded_credentials=self.dice.randbytes(self.dice.choice(LENGTHS)),
            client_info="x\0\n" * (self.dice.choice(LENGTHS) // 3),
        ).encode()

    def _next_correlation_id(self) -> int:
        if self.dice.random() < 0.9:  # others are repeated
            self._correlation_id += 1
        return self._correlation_id

    def _value(self, message: Any, name: str, hint: Any) -> Any:
        dice = self.dice
        kind = next((one for one in typing.get_args(hint) if one is not type(None)), hint)
        if name == "control_session_id":
            return dice.choice(self.sessions) if self.sessions else 0
        if name == "correlation_id":
            return self._next_correlation_id()
        if name.endswith("recording_id"):
            return dice.choice([one for one in self.recordings if one != -1 or message.__name__ not in _ABOUT_ALL])
        if kind is str:
            return dice.choice(self.channels)
        if kind is bytes:
            return dice.randbytes(dice.choice(LENGTHS))
        return dice.choice(_numbers(message, name, kind))


def _numbers(message: Any, name: str, kind: Any) -> Sequence[Any]:
    """Return the values that a field can be given."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [one for one in kind if one.name != "NULL_VALUE"]
    length = getattr(getattr(archive, f"{message.__name__}Decoder"), f"{name.upper()}_ENCODING_LENGTH")
    if name in _IDS_OF_OTHERS:
        return [one for one in INT64S if not 0 <= one < ID_MIN]
    return INT64S if length == 8 else INT32S
