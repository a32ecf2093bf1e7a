"""The ways in which a subscriber of the interop suite can take messages; the twin of Polling.java."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from aerowire.client import (
    Action,
    ControlledFragmentAssembler,
    FragmentAssembler,
    Header,
    ImageControlledFragmentAssembler,
    ImageFragmentAssembler,
    Subscription,
)
from aerowire.codecs.flyweights.transport import DataFlags, DataHeaderDecoder, FrameType
from tests.support.peers.offering import HEADER_LENGTH, checksum
from tests.support.peers.payloads import ContentHash

FRAGMENT_LIMIT = 64
BLOCK_LENGTH = 16_384
BOUND = 5_000
ABORTED_EVERY = 5

Poll = Callable[[Subscription], int]


class Polling:
    """Takes messages in the way of that name and counts what proves that it did."""

    def __init__(self, way: str, content: ContentHash, *, checks: bool) -> None:
        self._content = content
        self._checks = checks
        self._pieces: list[bytes] = []
        self._aborted = -1
        self.counts = {"checked": 0, "aborted": 0, "committed": 0, "blocks": 0, "padding": 0, "bounded": 0, "images": 0}
        self._assembler = FragmentAssembler(self._on_message)
        self._controlled_assembler = ControlledFragmentAssembler(self._on_controlled_message)
        self._image_assembler = ImageFragmentAssembler(self._on_message)
        self._image_controlled_assembler = ImageControlledFragmentAssembler(self._on_controlled_message)
        ways: dict[str, Poll] = {
            "plain": lambda subscription: subscription.poll(self._on_fragment, FRAGMENT_LIMIT),
            "controlled": lambda subscription: subscription.controlled_poll(self._on_controlled_fragment, FRAGMENT_LIMIT),
            "bounded": self._poll_bounded,
            "image": self._poll_images,
            "block": lambda subscription: subscription.block_poll(self._on_block, BLOCK_LENGTH),
            "raw": lambda subscription: subscription.raw_poll(self._on_raw_block, BLOCK_LENGTH),
        }
        self._poll = ways[way]

    def __call__(self, subscription: Subscription) -> int:
        return self._poll(subscription)

    def _on_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        self._check(buffer, offset, length, header)
        self._assembler(buffer, offset, length, header)

    def _on_controlled_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action | None:
        self._check(buffer, offset, length, header)
        return self._controlled_assembler(buffer, offset, length, header)

    def _check(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        if self._checks:
            expected = checksum(buffer, offset - HEADER_LENGTH, HEADER_LENGTH + length)
            assert header.reserved_value == expected, f"{header}: {header.reserved_value} instead of {expected}"
            self.counts["checked"] += 1

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self._content.add(buffer[offset : offset + length])

    def _on_controlled_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action:
        number = self._content.messages
        if number % ABORTED_EVERY == 0 and self._aborted != number:
            self._aborted = number
            self.counts["aborted"] += 1
            return Action.ABORT
        self._on_message(buffer, offset, length, header)
        action = (Action.COMMIT, Action.BREAK, Action.CONTINUE)[number % 3]
        self.counts["committed"] += action is Action.COMMIT
        return action

    def _poll_bounded(self, subscription: Subscription) -> int:
        fragments = 0
        for image in subscription.images:
            limit = image.position + BOUND
            if self._content.messages % 2:
                fragments += image.bounded_controlled_poll(self._on_controlled_fragment, limit, FRAGMENT_LIMIT)
            else:
                fragments += image.bounded_poll(self._on_controlled_plain, limit, FRAGMENT_LIMIT)
            self.counts["bounded"] += fragments > 0
        return fragments

    def _poll_images(self, subscription: Subscription) -> int:
        """Take a message at a time by either of the two kinds of handlers: the number of messages changes only between two."""
        fragments = 0
        for image in subscription.images:
            if self._content.messages % 2:
                fragments += image.poll(self._on_image_fragment, 1)
            else:
                fragments += image.controlled_poll(self._on_controlled_image_fragment, 1)
        self.counts["images"] += fragments
        return fragments

    def _on_image_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        self._check(buffer, offset, length, header)
        self._image_assembler(buffer, offset, length, header)

    def _on_controlled_image_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action | None:
        self._check(buffer, offset, length, header)
        return self._image_controlled_assembler(buffer, offset, length, header)

    def _on_controlled_plain(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        while self._on_controlled_fragment(buffer, offset, length, header) is Action.ABORT:
            continue  # a plain poll cannot leave a fragment: it is offered to the assembler again

    def _on_raw_block(
        self, file: Any, file_offset: int, buffer: memoryview, offset: int, length: int, session_id: int, term_id: int
    ) -> None:
        frames = os.pread(file.fileno(), length, file_offset)
        # Padding is not read beyond its header, whose rest may not have been written.
        assert frames[:HEADER_LENGTH] == buffer[offset : offset + HEADER_LENGTH]
        self._on_block(memoryview(frames), 0, length, session_id, term_id)

    def _on_block(self, buffer: memoryview, offset: int, length: int, session_id: int, term_id: int) -> None:
        self.counts["blocks"] += 1
        end = offset + length
        while offset < end:
            header = DataHeaderDecoder(buffer, offset)
            assert (header.session_id, header.term_id) == (session_id, term_id)
            frame_length = header.frame_length
            if header.type == FrameType.PAD:
                self.counts["padding"] += 1
            else:
                if self._checks:
                    assert header.reserved_value == checksum(buffer, offset, frame_length)
                    self.counts["checked"] += 1
                self._pieces.append(bytes(buffer[offset + HEADER_LENGTH : offset + frame_length]))
                if header.flags & DataFlags.END:
                    self._content.add(memoryview(b"".join(self._pieces)))
                    self._pieces.clear()
            offset += frame_length + -frame_length % HEADER_LENGTH
        assert offset == end
