"""The keys of a terminal that is read byte by byte: which of them move and end what is shown.

Knows what terminals send; nothing of what the keys do.
"""

from __future__ import annotations

import enum
import os
import re
import select

_READ_LENGTH = 1024
# What a key sends: a sequence that an escape begins, or a byte. Such a sequence may come in parts; no key's is longer than its limit here.
_SENT = re.compile(rb"\x1b\[[0-9;]{0,16}[@-~]|\x1bO[@-~]|\x1b[^\x1b\[O]|[^\x1b]")
_BEGUN = re.compile(rb"\x1b(\[[0-9;]{0,16}|O)?")


class Key(enum.Enum):
    """What somebody wants."""

    DOWN = enum.auto()
    UP = enum.auto()
    PAGE_DOWN = enum.auto()
    PAGE_UP = enum.auto()
    FIRST = enum.auto()
    LAST = enum.auto()
    QUIT = enum.auto()


# As less has them, and as terminals send arrows: in their normal mode, and in that of applications.
_KEYS: dict[bytes, Key] = {
    sent: key
    for key, all_sent in {
        Key.DOWN: (b"j", b"\x1b[B", b"\x1bOB", b"\r", b"\n"),
        Key.UP: (b"k", b"\x1b[A", b"\x1bOA"),
        Key.PAGE_DOWN: (b" ", b"f", b"\x06", b"\x1b[6~"),
        Key.PAGE_UP: (b"b", b"\x02", b"\x1b[5~"),
        Key.FIRST: (b"g", b"\x1b[H", b"\x1bOH", b"\x1b[1~", b"\x1b[7~"),
        Key.LAST: (b"G", b"\x1b[F", b"\x1bOF", b"\x1b[4~", b"\x1b[8~"),
        Key.QUIT: (b"q", b"Q"),
    }.items()
    for sent in all_sent
}


class KeyReader:
    """The keys that a terminal sends, in order; others are passed over.

    Changed by: read(). Invariant: `_begun` is the beginning of one sequence, or empty.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._begun = b""
        self.is_open = True

    def read(self, seconds: float) -> list[Key]:
        """Wait so long for keys; return those that have come. Ends `is_open` with the terminal's last."""
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if not ready:
            return []
        if not is_foreground(self._descriptor):  # what is typed is for another job, and reading it would stop this one
            select.select([], [], [], seconds)
            return []
        try:
            sent = os.read(self._descriptor, _READ_LENGTH)
        except OSError:
            sent = b""
        if not sent:
            self.is_open = False
        return self._taken(sent)

    def _taken(self, sent: bytes) -> list[Key]:
        sent = self._begun + sent
        found, offset = [], 0
        while offset < len(sent):
            match = _SENT.match(sent, offset)
            if match is None and _BEGUN.fullmatch(sent, offset):
                break
            found.append(match.group() if match is not None else b"")
            offset += max(len(found[-1]), 1)
        self._begun = sent[offset:]
        return [_KEYS[one] for one in found if one in _KEYS]


def is_foreground(descriptor: int) -> bool:
    """Return whether what is typed at a terminal is for this process. One that controls no session has no jobs to choose among."""
    try:
        return os.tcgetpgrp(descriptor) in {0, os.getpgrp()}
    except OSError:
        return True
