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

INT32S = (0, 1, -1, -2, 10, 1001, 64, 65535, 65536, 2**31 - 1, -(2**31))
INT64S = (*INT32S, 32, 4096, 2**31, 2**32, 2**47, 2**62, 2**63 - 32, 2**63 - 1, -(2**63))
COUNTS = (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFF0, 65536, 1)
LENGTHS = (0, 1, 100, 4000, 5000, 60_000)
IPC = "aeron:ipc?term-length=64k"
# Each of these a client may write; some are channels of a driver, some would be paths, some are none.
CHANNELS = (
    IPC,
    "aeron:ipc",
    "",
    "aeron:",
    "nonsense",
    "aeron-spy:aeron:ipc",
    "aeron:ipc?" + "|".join(f"k{number}=v{number}" for number in range(300)),
    "aeron:ipc?alias=" + "a" * 3800,
    "aeron:ipc?alias=" + "a" * 4070,
    "aeron:ipc?alias=../../../../tmp/escaped",
    "aeron:ipc?alias=/etc/passwd\0.rec",
    "aeron:ipc?alias=one\ntwo\rthree\x1b[2J",
    "aeron:ipc?alias={recording_id}%s%n",
    "aeron:ipc?alias=caf\udce9",
    "aeron:ipc?session-id=2147483647|term-id=-2147483648|init-term-id=2147483647|term-offset=65504|term-length=64k",
    "aeron:ipc?term-length=64k|mtu=8192|init-term-id=0|term-id=2147483647|term-offset=0",
    "aeron:ipc?term-length=2147483648",
    "aeron:ipc?mtu=31",
    "aeron:ipc?linger=9223372036854775807ns|eos=perhaps|sparse=2|ttl=999999999999|gtag=-9|fc=min,g:9223372036854775807/1,t:1ns",
    "aeron:ipc?tags=-1,18446744073709551616|stream-id=99999999999",
    "aeron:ipc?so-rcvbuf=16e|rcv-wnd=-1|so-sndbuf=2g",
    "aeron:udp",
    "aeron:udp?endpoint=127.0.0.1:0",
    "aeron:udp?endpoint=127.0.0.1:99999",
    "aeron:udp?endpoint=224.20.30.39:40456|interface=127.0.0.1|ttl=0",
    "aeron:udp?endpoint=no.such.host.invalid:1",
    "aeron:udp?control-mode=response|control=127.0.0.1:0",
    "aeron:udp?control-mode=response|control=127.0.0.1:0|response-correlation-id=9223372036854775807",
    "aeron:udp?control-mode=manual",
    "aeron:udp?endpoint=127.0.0.1:1|endpoint=127.0.0.1:2",
    "aeron:udp?endpoint=[::1]:0|control=[::ffff:127.0.0.1]:0|control-mode=dynamic",
    "aeron:udp?" + "endpoint=" * 400,
)
# Requests about everything, which a session may make, and by which all other clients would be touched.
_ABOUT_ALL = {"StopAllReplaysRequest"}
# Ids that the archive and its driver give out: a small one may be that of another client, whose recording it would stop.
_IDS_OF_OTHERS = {"subscription_id", "replay_session_id", "replication_id"}
ID_MIN = 1 << 31
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
        data = bytearray(self.request())
        kind = dice.randrange(7)
        if kind == 0:
            return dice.randbytes(dice.randrange(200))
        if kind == 1:
            del data[dice.randrange(len(data)) :]
        elif kind == 2:
            data += dice.randbytes(dice.choice((1, 7, 300)))
        elif kind == 3:
            struct.pack_into(
                "<H", data, 2 * dice.randrange(4), dice.choice((0, 1, 3, 16, 20, 58, 99, 100, 111, 65535, dice.randrange(1 << 16)))
            )
        elif kind == 4:  # the length of its first text, where it has one
            text = HEADER.size + HEADER.unpack(memoryview(data), 0)[0]
            data[text : text + 4] = struct.pack("<I", dice.choice(COUNTS))[: len(data) - text]
        elif kind == 5:  # of a session that is not its own, or of none
            struct.pack_into("<q", data, HEADER.size, dice.choice((0, -1, 2**63 - 1, dice.getrandbits(40))))
        else:
            struct.pack_into("<HHHH", data, 0, dice.randrange(1 << 16), dice.randrange(120), 101, dice.randrange(20))
            del data[HEADER.size + dice.randrange(8) :]
        return bytes(data)

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
