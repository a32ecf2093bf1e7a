"""What is settled of a capture, or of a part of one, before its first record is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aerowire.pcap.files.boundaries import with_earlier_place
from aerowire.pcap.files.places import Extent
from aerowire.pcap.files.source import CHUNK_LENGTH, CaptureFile, open_capture
from aerowire.pcap.packets.fragments import SPAN
from aerowire.pcap.reading.facts import Facts


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a capture, and how it is to be read.

    ports: of the datagrams that count; without them flows do that are proven to be Aeron.  needs_whole_file: whether frames tell what only
    the whole file does: which flows count, positions, retransmissions, packet numbers.
    """

    ports: frozenset[int] | None = None
    needs_whole_file: bool = False
    fail_fast: bool = False
    chunk_length: int = CHUNK_LENGTH


@dataclass(frozen=True, slots=True)
class ResolvedPart:
    """A part of an open file, with all that is known before its records are read.

    extent: the records of the part, with the place at which IP fragments before it begin to count; None for all of the file.  facts: what
    only the whole capture tells, None where that is not known.  is_cut: whether the part ends before the file does, at a record that was
    found near a cut.
    """

    file: CaptureFile
    request: Request
    extent: Extent | None = None
    facts: Facts | None = None
    is_cut: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether each datagram's verdict is known when it is read; else flows are judged as they are read."""
        return self.request.ports is not None or self.facts is not None


@contextmanager
def opened(path: str, request: Request, *, extent: Extent | None = None, facts: Facts | None = None) -> Iterator[ResolvedPart]:
    """Open a capture and resolve all of it, or an extent."""
    with open_capture(path) as file:
        yield ResolvedPart(file, request, with_earlier_place(file, extent, SPAN), facts)
