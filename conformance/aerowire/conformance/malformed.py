"""Makes malformed datagrams: well-formed frames of every type with a few values, lengths or bits put wrong.

Structure-aware and seeded: the same seed makes the same datagrams. Pure; knows nothing of sockets.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from scapy.packet import Packet

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, MAX_UDP_PAYLOAD, FrameHeaderDecoder, FrameType
from aerowire.codecs.scapy import transport as layers
from aerowire.conformance.rules import Effect, Endpoint, KnownStream, effect_of

# What sits at the edges of the rules: field values that are often just right or just wrong.
EDGES = (0, 1, -1, 2, 8, 16, 31, 32, 33, 64, 1023, 1024, 1408, 32_768, 65_504, 65_535, 65_536, 131_072, 2**30, 2**31 - 1, -(2**31))
UNKNOWN_TYPES = (8, 9, 10, 12, 100, 0x7FFF, -1, -2, -(2**15))
# Most datagrams must fail; some must be ignored without being counted.
IGNORED_SHARE = 0.15
PAYLOAD_MAX = 256
MUTATIONS_MAX = 3
# How many are well-formed frames, in the direction where drivers look at their values, with only these wrong.
DEEP_SHARE = 0.6
HOME = {
    "DATA": Endpoint.RECEIVE,
    "PAD": Endpoint.RECEIVE,
    "SETUP": Endpoint.RECEIVE,
    "NAK": Endpoint.SEND,
    "SM": Endpoint.SEND,
    "ERR": Endpoint.SEND,
}
HEADER = frozenset({"frame_length", "version", "type"})
VARIABLE = frozenset({"data", "padding", "error_text", "entries", "entry_name", "address", "group_tag"})
# A datagram that the rules accept is drawn again; this many in a row means that the generator is broken.
TRIES_MAX = 1000


class Malformed(NamedTuple):
    """One datagram, where to send it, and what must become of it."""

    kind: str
    endpoint: Endpoint
    effect: Effect
    payload: bytes


class Generator:
    """An endless supply of malformed datagrams for a receive and a send endpoint with one live stream each."""

    def __init__(self, seed: int, received: KnownStream, published: KnownStream) -> None:
        self._random = random.Random(seed)
        self._known = {Endpoint.RECEIVE: received, Endpoint.SEND: published}
        # Whether the datagram being made shall pass the first layer and fail, if at all, in the second.
        self._is_deep = False
        self._makers: dict[str, Callable[[KnownStream], bytes]] = {
            "DATA": self._data,
            "PAD": self._padding,
            "NAK": lambda known: self._mutated(layers.Nak(length=FRAME_ALIGNMENT, **self._ids(known))),
            "SM": lambda known: self._mutated(layers.StatusMessage(receiver_window=1024, **self._ids(known))),
            "ERR": self._error,
            "SETUP": self._setup,
            "RTTM": lambda known: self._mutated(layers.Rttm(flags=self._byte(), **self._ids(known))),
            "RES": self._resolution,
            "RSP_SETUP": lambda known: self._mutated(layers.ResponseSetup(**self._ids(known))),
            "unknown": self._unknown,
            "noise": lambda _: self._random.randbytes(self._random.randrange(1, PAYLOAD_MAX)),
        }

    def __iter__(self) -> Iterator[Malformed]:
        """Yield datagrams, the frame types in turn."""
        while True:
            for kind in self._makers:
                yield self.make(kind)

    def make(self, kind: str) -> Malformed:
        """Return a datagram that began as a frame of `kind` and that no driver may act on."""
        wants_ignored = self._random.random() < IGNORED_SHARE
        for _ in range(TRIES_MAX):
            self._is_deep = kind in HOME and self._random.random() < DEEP_SHARE
            endpoint = HOME[kind] if self._is_deep else self._random.choice((Endpoint.RECEIVE, Endpoint.SEND))
            known = self._known[endpoint]
            payload = self._makers[kind](known)
            # Nothing counts an empty datagram, and a longer one than this cannot be sent.
            if not 0 < len(payload) <= MAX_UDP_PAYLOAD:
                continue
            effect = effect_of(payload, endpoint, known)
            if effect is Effect.INVALID or (effect is Effect.IGNORED and wants_ignored):
                return Malformed(kind, endpoint, effect, payload)
        raise AssertionError(f"no malformed {kind} in {TRIES_MAX} tries")

    # -- frames -----------------------------------------------------------------------------------------------------

    def _data(self, known: KnownStream) -> bytes:
        frames: list[bytes] = []
        offset = self._random.randrange(0, known.term_length // FRAME_ALIGNMENT) * FRAME_ALIGNMENT
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            payload = self._random.randbytes(self._random.randrange(0, PAYLOAD_MAX))
            frame = layers.DataHeader(term_offset=offset, term_id=known.initial_term_id, data=payload, **self._ids(known))
            frames.append(bytes(frame))
            offset = min(offset + len(frames[-1]), 2**31 - 1)
        # Break one frame of the chain, wherever it stands.
        at = self._random.randrange(len(frames))
        broken = layers.FrameHeader(frames[at])
        frames[at] = self._mutated(broken)
        return b"".join(frames)

    def _padding(self, known: KnownStream) -> bytes:
        length = self._random.choice((32, 64, 1024, 4096))
        return self._mutated(
            layers.DataHeader(type=int(FrameType.PAD), frame_length=length, term_id=known.initial_term_id, **self._ids(known))
        )

    def _error(self, known: KnownStream) -> bytes:
        text = bytes(self._random.randrange(32, 127) for _ in range(self._random.randrange(0, 64)))
        return self._mutated(layers.ErrorFrame(error_text=text, **self._ids(known)))

    def _setup(self, known: KnownStream) -> bytes:
        return self._mutated(layers.Setup(term_length=known.term_length, mtu=1408, **self._ids(known)))

    def _resolution(self, _: KnownStream) -> bytes:
        name = b"n" * self._random.randrange(0, 40)
        entry = layers.ResolutionEntry(res_type=1, address=b"\x7f\0\0\x01", entry_name=name)
        return self._mutated(layers.Resolution(entries=[entry]))

    def _unknown(self, known: KnownStream) -> bytes:
        frame = layers.DataHeader(type=self._random.choice(UNKNOWN_TYPES), data=self._random.randbytes(32), **self._ids(known))
        return bytes(frame)

    # -- mutations --------------------------------------------------------------------------------------------------

    def _mutated(self, frame: Packet) -> bytes:
        for _ in range(self._random.randrange(1, MUTATIONS_MAX + 1)):
            left_alone = VARIABLE
            if self._is_deep:
                # The first layer lets a DATA frame declare any length.
                left_alone |= HEADER - {"frame_length"} if isinstance(frame, layers.DataHeader) else HEADER
            name = self._random.choice([field.name for field in frame.fields_desc if field.name not in left_alone])
            before = frame.getfieldval(name)
            setattr(frame, name, self._edge(32) if self._random.random() < 0.9 else self._edge(64))
            try:
                bytes(frame)
            except (struct.error, TypeError, ValueError, OverflowError):
                # The value does not fit this field.
                setattr(frame, name, before)
        payload = bytes(frame)
        if self._is_deep:
            return payload
        chance = self._random.random()
        if chance < 0.15:
            return payload[: self._random.randrange(1, len(payload) + 1)]
        if chance < 0.25:
            return payload + self._random.randbytes(self._random.randrange(1, 40))
        if chance < 0.35:
            return self._flipped(payload)
        return payload

    def _flipped(self, payload: bytes) -> bytes:
        bits = bytearray(payload)
        # Most bits that matter are in the header.
        reach = FrameHeaderDecoder.ENCODED_LENGTH if self._random.random() < 0.5 else len(bits)
        for _ in range(self._random.randrange(1, 4)):
            bit = self._random.randrange(reach * 8)
            bits[bit // 8] ^= 1 << (bit % 8)
        return bytes(bits)

    def _ids(self, known: KnownStream) -> dict[str, Any]:
        """The live stream's ids where the second layer is to be reached, and now and then elsewhere."""
        if self._is_deep or self._random.random() < 0.4:
            return {"session_id": known.session_id, "stream_id": known.stream_id}
        return {"session_id": self._edge(32), "stream_id": self._edge(32)}

    def _edge(self, bits: int) -> int:
        edge: int = self._random.choice(EDGES)
        return edge if self._random.random() < 0.7 else self._random.getrandbits(bits) - 2 ** (bits - 1)

    def _byte(self) -> int:
        return self._random.randrange(256)
