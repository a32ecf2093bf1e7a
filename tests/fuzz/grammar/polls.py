"""Every way in which a subscription can be read, with what has to hold for each fragment that it delivers."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from aerowire.base.errors import AerowireError
from aerowire.client import (
    Action,
    ControlledFragmentAssembler,
    FragmentAssembler,
    Header,
    Image,
    ImageFragmentAssembler,
    Subscription,
)

FRAGMENT_LIMIT = 32
# No frame of a datagram is longer.
BLOCK_LENGTH = 65_536
ROW_LENGTH = 32
# Thread time, not the clock's: other processes of the machine do not count.
POLL_LIMIT_S = 0.1
HEADER = 32


class OracleError(AssertionError):
    """Something that must hold does not."""


class Reader:
    """Reads one subscription in one way, and checks fragments, positions and the time of each poll.

    A poll may raise the product's own errors, and what it documents for rows that do not fit; anything else is a finding. Where the
    driver lets frames overlap, as official ones do, `is_strict` has to be False.
    """

    def __init__(self, subscription: Subscription, way: str, seed: int = 0, *, is_strict: bool = True) -> None:
        self.subscription = subscription
        self.way = way
        self.fragments = 0
        self.longest_s = 0.0
        self._checks_positions = True
        self.errors: Counter[str] = Counter()
        self._is_strict = is_strict
        self._dice = random.Random(seed)
        self._positions: dict[int, int] = {}
        self._assembler = FragmentAssembler(self._on_message)
        self._controlled = ControlledFragmentAssembler(self._on_controlled_message)
        self._of_image = ImageFragmentAssembler(self._on_message)
        self._rows = np.zeros((16, ROW_LENGTH), dtype=np.uint8)
        self._poll = WAYS[way]

    def trust_nothing(self) -> None:
        """Others write into the log and its counters from now on: positions may go back, and frames may not be where they say."""
        self._is_strict = self._checks_positions = False

    def poll(self) -> int:
        """Poll once; raise OracleError when something does not hold."""
        if self.subscription.is_closed:
            return 0
        begin = time.thread_time()
        try:
            count = self._poll(self)
        except AerowireError as error:
            self.errors[type(error).__name__] += 1
            count = 0
        elapsed = time.thread_time() - begin
        self.longest_s = max(self.longest_s, elapsed)
        if elapsed > POLL_LIMIT_S:
            raise OracleError(f"{self.way} took {elapsed * 1e3:.0f} ms")
        if self._checks_positions:
            self._check_positions()
        return count

    # ---- ways

    def _plain(self) -> int:
        return self.subscription.poll(self._on_fragment, FRAGMENT_LIMIT)

    def _assembled(self) -> int:
        return self.subscription.poll(self._assembler, FRAGMENT_LIMIT)

    def _controlled_plain(self) -> int:
        return self.subscription.controlled_poll(self._on_controlled_fragment, FRAGMENT_LIMIT)

    def _controlled_assembled(self) -> int:
        return self.subscription.controlled_poll(self._controlled, FRAGMENT_LIMIT)

    def _images(self) -> int:
        count = 0
        for image in self.subscription.images:
            if self._dice.random() < 0.5:
                count += image.poll(self._of_image, FRAGMENT_LIMIT)
            else:
                count += image.bounded_poll(self._on_fragment, min(image.position + 5_000, 2**63 - 1), FRAGMENT_LIMIT)
        return count

    def _many(self) -> int:
        batch = self.subscription.poll_many(FRAGMENT_LIMIT)
        if len(batch) > FRAGMENT_LIMIT:
            raise OracleError(f"poll_many gave {len(batch)} fragments")
        whole = sum(map(len, batch))
        if whole > len(batch.data):
            raise OracleError(f"poll_many gave {whole} bytes of {len(batch.data)}")
        self.fragments += len(batch)
        return len(batch)

    def _block(self) -> int:
        with self.subscription.poll_block(BLOCK_LENGTH) as block:
            if not block:
                return 0
            offsets, lengths = block.frame_offsets, block.payload_lengths
            if len(offsets) and (int(lengths.min()) < 0 or int((offsets + lengths).max()) + HEADER > block.length):
                raise OracleError(f"block of {block.length}: offsets {offsets.tolist()}, lengths {lengths.tolist()}")
            if len(block.headers()) < len(offsets):
                raise OracleError(f"block of {block.length}: {len(block.headers())} headers for {len(offsets)} fragments")
            sum(int(payload[-1]) for payload in block.payloads() if len(payload))
            self.fragments += len(offsets)
            if self._dice.random() < 0.2 and len(offsets) > 1:
                block.release(int(offsets[1]))
            else:
                block.release()
            return len(offsets)

    def _blocks(self) -> int:
        return self.subscription.block_poll(self._on_block, BLOCK_LENGTH)

    def _raw(self) -> int:
        return self.subscription.raw_poll(self._on_raw_block, BLOCK_LENGTH)

    def _into(self) -> int:
        try:
            return self.subscription.poll_into(self._rows)
        except ValueError:
            # A payload of another length stands next: it is taken in another way.
            return self.subscription.poll(self._on_fragment, 1)

    def _messages(self) -> int:
        count = 0
        for message in self.subscription.messages(timeout_ns=0):
            self.fragments += 1
            count += 1
            if len(message) and count >= FRAGMENT_LIMIT:
                break
        return count

    def _views(self) -> int:
        count = 0
        for view in self.subscription.views(timeout_ns=0):
            if len(view):
                view[-1]
            self.fragments += 1
            count += 1
            if count >= FRAGMENT_LIMIT:
                break
        return count

    # ---- what is delivered

    def _on_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        if length < 0 or offset < 0 or offset + length > len(buffer):
            raise OracleError(f"{self.way}: {length} bytes at {offset} of {len(buffer)}")
        if self._is_strict and header.term_offset != offset - HEADER:
            raise OracleError(f"{self.way}: the frame at {offset - HEADER} says that it is at {header.term_offset}")
        if length:
            buffer[offset + length - 1]
        self.fragments += 1

    def _on_controlled_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action:
        self._on_fragment(buffer, offset, length, header)
        return self._dice.choices((Action.CONTINUE, Action.COMMIT, Action.BREAK, Action.ABORT), (12, 4, 2, 1))[0]

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        if length < 0 or offset < 0 or offset + length > len(buffer):
            raise OracleError(f"{self.way}: message of {length} bytes at {offset} of {len(buffer)}")
        self.fragments += 1

    def _on_controlled_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action:
        self._on_message(buffer, offset, length, header)
        return self._dice.choices((Action.CONTINUE, Action.COMMIT, Action.BREAK, Action.ABORT), (12, 4, 2, 1))[0]

    def _on_block(self, buffer: memoryview, offset: int, length: int, _session_id: int, _term_id: int) -> None:
        if length <= 0 or length % HEADER or offset < 0 or offset + length > len(buffer):
            raise OracleError(f"{self.way}: block of {length} bytes at {offset} of {len(buffer)}")
        buffer[offset + length - 1]
        self.fragments += 1

    def _on_raw_block(self, _file: object, _at: int, buffer: memoryview, offset: int, length: int, session_id: int, term_id: int) -> None:
        self._on_block(buffer, offset, length, session_id, term_id)

    def _check_positions(self) -> None:
        """No image's position goes back, or beyond what a term allows in one poll."""
        seen: dict[int, int] = {}
        for image in self.subscription.images:
            position = image_position(image)
            before = self._positions.get(image.correlation_id, position)
            if position < before:
                raise OracleError(f"{self.way}: position of session {image.session_id} went from {before} back to {position}")
            seen[image.correlation_id] = position
        self._positions = seen


def image_position(image: Image) -> int:
    """Return an image's position."""
    return image.position


WAYS: dict[str, Callable[[Reader], int]] = {
    "poll": Reader._plain,
    "assembler": Reader._assembled,
    "controlled": Reader._controlled_plain,
    "controlled-assembler": Reader._controlled_assembled,
    "images": Reader._images,
    "poll_many": Reader._many,
    "poll_block": Reader._block,
    "block_poll": Reader._blocks,
    "raw_poll": Reader._raw,
    "poll_into": Reader._into,
    "messages": Reader._messages,
    "views": Reader._views,
}
