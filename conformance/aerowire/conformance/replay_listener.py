"""One subscriber of a replayed stream: takes what the driver delivers and compares it with the captured content."""

from __future__ import annotations

import hashlib

from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder
from aerowire.conformance.harness.bench import Subscription
from aerowire.conformance.harness.client import Client, Image
from aerowire.conformance.harness.log import HEADER_LENGTH, Fragment
from aerowire.conformance.replay_outcome import StreamOutcome
from aerowire.conformance.streams import CapturedStream


class Listener:
    """A subscription of the driver and how much of the expected frames it has delivered.

    `expected` are the positions of the data frames due, `end` where the stream ends, and `whole` grows by the positions that
    reached the driver whole and in order: of an unreliable stream, all others may be missing.
    """

    def __init__(
        self,
        client: Client,
        subscription: Subscription,
        stream: CapturedStream,
        outcome: StreamOutcome,
        *,
        expected: list[int],
        end: int,
        whole: set[int],
    ) -> None:
        self._client = client
        self._subscription = subscription
        self._stream = stream
        self._outcome = outcome
        self._expected = expected
        self._end = end
        self._whole = whole
        self._image: Image | None = None
        self._next_expected = 0
        self._digest = hashlib.sha256()

    @property
    def position(self) -> int | None:
        """Where delivery stands; None without an image."""
        return None if self._image is None else self._image.poller.position

    @property
    def is_at_end(self) -> bool:
        """Whether delivery has reached the stream's end."""
        return self._image is not None and self._image.poller.position >= self._end

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is due."""
        return self.is_at_end or self._next_expected == len(self._expected)

    @property
    def is_unavailable(self) -> bool:
        """Whether the driver has given the image up."""
        return self._image is not None and self._image.correlation_id in self._client.unavailable

    @property
    def content_sha256(self) -> str:
        """Digest of the payloads delivered."""
        return self._digest.hexdigest()

    def deliver(self) -> bool:
        """Take and compare what has come; return whether anything did."""
        images = self._client.images_of(self._subscription.registration_id)
        if self._image is None:
            if not images:
                return False
            self._image = images[0]
            if self._image.join_position != self._stream.start:
                self._outcome.finding = f"the image joins at {self._image.join_position}, the SETUP said {self._stream.start}"
                return False
        is_unavailable = self.is_unavailable
        # What the log holds is delivered, whatever became of the image since.
        fragments = self._image.consume()
        for fragment in fragments:
            self._compare(fragment)
        if is_unavailable and not self.is_complete and not self._outcome.finding:
            self._outcome.finding = f"the image became unavailable at position {self._image.poller.position} of {self._end}"
        return bool(fragments)

    def _compare(self, fragment: Fragment) -> None:
        outcome = self._outcome
        if outcome.finding:
            return
        while not outcome.is_reliable and self._next_expected < len(self._expected):
            skipped = self._expected[self._next_expected]
            # Without repair, what never reached the driver in time may be missing, and only that.
            if skipped >= fragment.position or skipped in self._whole:
                break
            self._next_expected += 1
        expected = self._expected[self._next_expected] if self._next_expected < len(self._expected) else None
        if fragment.position != expected:
            outcome.finding = f"a frame at position {fragment.position} was delivered where {expected} was due"
            return
        frame = self._stream.content[fragment.position]
        header = DataHeaderDecoder(frame)
        payload = frame[HEADER_LENGTH : header.frame_length]
        wanted = (header.flags, header.session_id, header.stream_id, header.term_id, header.reserved_value)
        got = (fragment.flags, fragment.session_id, fragment.stream_id, fragment.term_id, fragment.reserved_value)
        if got != wanted or fragment.payload != payload:
            outcome.finding = f"the frame at position {fragment.position} was delivered changed: header {got}, captured {wanted}"
            return
        self._next_expected += 1
        self._digest.update(payload)
        outcome.frames_delivered += 1
        outcome.bytes_delivered += len(payload)
        outcome.messages_delivered += bool(fragment.flags & DataFlags.END)
