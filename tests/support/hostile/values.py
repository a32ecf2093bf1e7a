"""Values and damage by which hostile clients and members draw their messages: the edges of integers, lengths, counts and channels."""

from __future__ import annotations

import random
import struct

from aerowire.codecs.flyweights.archive.header import HEADER

INT32S = (0, 1, -1, -2, 10, 1001, 64, 65535, 65536, 2**31 - 1, -(2**31))
INT64S = (*INT32S, 32, 4096, 2**31, 2**32, 2**47, 2**62, 2**63 - 32, 2**63 - 1, -(2**63))
COUNTS = (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFF0, 65536, 1)
LENGTHS = (0, 1, 100, 4000, 5000, 60_000)
IPC = "aeron:ipc?term-length=64k"
HEADER_LENGTH = HEADER.size
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


def damaged(dice: random.Random, data: bytes, schema_id: int) -> bytes:
    """Return an SBE message that is damaged somewhere, or is none at all: cut, extended, of another kind, or with a wild count."""
    kind = dice.randrange(6)
    if kind == 0:
        return dice.randbytes(dice.randrange(200))
    changed = bytearray(data)
    if kind == 1:
        del changed[dice.randrange(len(changed)) :]
    elif kind == 2:
        changed += dice.randbytes(dice.choice((1, 7, 300)))
    elif kind == 3:
        replaced = dice.choice((0, 1, 3, 16, 20, 58, 99, 100, schema_id, 65535, dice.randrange(1 << 16)))
        struct.pack_into("<H", changed, 2 * dice.randrange(4), replaced)
    elif kind == 4:  # the count of its first group, or the length of its first text, where it has one
        behind = HEADER_LENGTH + int.from_bytes(changed[:2], "little")
        changed[behind : behind + 4] = struct.pack("<I", dice.choice(COUNTS))[: max(0, len(changed) - behind)]
    else:
        struct.pack_into("<HHHH", changed, 0, dice.randrange(1 << 16), dice.randrange(120), schema_id, dice.randrange(20))
        del changed[HEADER_LENGTH + dice.randrange(8) :]
    return bytes(changed)
