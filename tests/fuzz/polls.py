"""A subscriber of any log: every way of polling, and what no log may make of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from aerowire.base.errors import AerowireError
from aerowire.client.subscriptions import iteration
from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.assembler import FragmentAssembler, ImageFragmentAssembler
from aerowire.client.subscriptions.controlled_assembler import ControlledFragmentAssembler, ImageControlledFragmentAssembler
from aerowire.client.subscriptions.image import Image
from aerowire.client.subscriptions.subscription import Subscription
from aerowire.logbuffer.log import LogBuffers
from aerowire.system.regions import FileRegionPort
from aerowire.system.waiting import SystemWaiting
from tests.fuzz.target import FindingError

HEADER = 32
POLLS = 4
LENGTH_LIMIT = 4096
FRAGMENT_LIMIT = 10
BATCHES = (6, 7, 8, 13)  # ways that fill a batch
ITERATIONS_FROM = 14  # the ways from here on iterate
MESSAGES_MAX = 16
PADDINGS_MAX = 4096  # frames of padding that one poll steps over


class _Conductor:
    """Nothing else happens while a subscription waits."""

    waiting = SystemWaiting()

    def work_while_waiting(self) -> None: ...
    def on_image_failed(self, *_: object) -> None: ...
    def remove_subscription(self, *_: object) -> None: ...


class EveryPoll:
    """Polls one log in every way, from the same position each time, and checks what it gets."""

    def __init__(
        self, log: LogBuffers, counters: Any, position_id: int, *, session_id: int, stream_id: int, has_file: bool = False
    ) -> None:
        self.attach(log, counters, position_id, session_id=session_id, stream_id=stream_id)
        # Without a driver that cleans it, a log is read round and round.
        iteration.FRAGMENTS_MAX = 64
        self._rows = np.zeros(8, dtype="<i4")
        self._polls: tuple[Callable[[Subscription, Image], object], ...] = (
            lambda _, image: image.poll(self._on_fragment, 10),
            lambda _, image: image.bounded_poll(self._on_fragment, image.position + 128, 10),
            lambda _, image: image.controlled_poll(self._on_controlled, 10),
            lambda _, image: image.bounded_controlled_poll(self._on_controlled, image.position + 128, 10),
            lambda _, image: image.block_poll(self._on_block, LENGTH_LIMIT),
            # A raw poll opens the log's file.
            lambda _, image: image.raw_poll(lambda _file, _at, *rest: self._on_block(*rest), LENGTH_LIMIT) if has_file else None,
            lambda _, image: self._take_batch(image.poll_many(FRAGMENT_LIMIT)),
            lambda _, image: self._take_block(image.poll_block(LENGTH_LIMIT)),
            lambda _, image: self._poll_rows(image),
            lambda subscription, _: subscription.poll(self._assembler, 10),
            lambda _, image: image.poll(self._image_assembler, 10),
            lambda subscription, _: subscription.controlled_poll(self._controlled_assembler, 10),
            lambda _, image: image.controlled_poll(self._image_controlled_assembler, 10),
            lambda subscription, _: self._take_batch(subscription.poll_many(FRAGMENT_LIMIT)),
            lambda subscription, _: list(islice(subscription.messages(timeout_ns=0), MESSAGES_MAX)),
            lambda subscription, _: [bytes(view) for view in islice(subscription.views(timeout_ns=0), MESSAGES_MAX)],
        )

    def attach(self, log: LogBuffers, counters: Any, position_id: int, *, session_id: int, stream_id: int) -> None:
        """Poll another log from now on."""
        self._log = log
        self._counters = counters
        self._position_id = position_id
        self._ids = session_id, stream_id
        self._term_length = log.length_of_term

    def run(self, start: int, skipped: int = 0, most: int = 16) -> None:
        """Poll from `start` in every way but the first `skipped`, in `most` ways, each until nothing more comes."""
        self._assembler = FragmentAssembler(self._on_message)
        self._image_assembler = ImageFragmentAssembler(self._on_message)
        self._controlled_assembler = ControlledFragmentAssembler(self._on_controlled_message)
        self._image_controlled_assembler = ImageControlledFragmentAssembler(self._on_controlled_message)
        subscription, image = self._join(start)
        for index, poll in enumerate(self._polls[skipped : skipped + most], skipped):
            self._counters.set_value(self._position_id, start)
            for _ in range(POLLS):
                before = self._counters.value(self._position_id)
                try:
                    poll(subscription, image)
                except AerowireError:
                    subscription, image = self._join(start)
                    break
                after = self._counters.value(self._position_id)
                # Iteration polls until nothing comes.
                if index < ITERATIONS_FROM and not before <= after <= self._last_position(index, before):
                    raise FindingError(f"poll moved the position from {before} to {after}")
                if after == before:
                    break

    def _last_position(self, index: int, before: int) -> int:
        """Return where a poll ends at the latest: with the term, or, where it fills a batch, a term for each frame."""
        terms = FRAGMENT_LIMIT + PADDINGS_MAX if index in BATCHES else 1
        return (before // self._term_length + terms) * self._term_length

    def _join(self, start: int) -> tuple[Subscription, Image]:
        self._counters.set_value(self._position_id, start)
        conductor: Any = _Conductor()
        subscription = Subscription(conductor, channel="aeron:ipc", stream_id=self._ids[1], registration_id=1)
        image = Image(
            subscription,
            self._log,
            self._counters,
            correlation_id=1,
            session_id=self._ids[0],
            stream_id=self._ids[1],
            subscriber_position_id=self._position_id,
            source_identity="aeron:ipc",
            open_file=FileRegionPort().open_file,
        )
        subscription._add_image(image)
        return subscription, image

    def _check(self, buffer: memoryview, offset: int, length: int) -> None:
        if offset < 0 or length < 0 or offset + length > len(buffer):
            raise FindingError(f"a fragment of {length} bytes at {offset} of {len(buffer)}")

    def _on_fragment(self, buffer: memoryview, offset: int, length: int, header: Any) -> None:
        self._check(buffer, offset, length)
        if len(header.payload()) != length or header.frame_length != length + HEADER:
            raise FindingError(f"{length} bytes with a header of {header.frame_length}")

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Any) -> None:
        self._check(buffer, offset, length)
        bytes(buffer[offset : offset + length])
        for name in ("position", "session_id", "term_id", "term_offset", "next_term_offset", "flags", "fragmented_frame_length"):
            getattr(header, name)

    def _on_controlled(self, buffer: memoryview, offset: int, length: int, header: Any) -> Action:
        self._on_fragment(buffer, offset, length, header)
        return Action.COMMIT if length & 32 else Action.CONTINUE

    def _on_controlled_message(self, buffer: memoryview, offset: int, length: int, header: Any) -> Action:
        self._on_message(buffer, offset, length, header)
        return Action.BREAK if length & 32 else Action.CONTINUE

    def _on_block(self, buffer: memoryview, offset: int, length: int, _session_id: int, _term_id: int) -> None:
        self._check(buffer, offset, length)
        bytes(buffer[offset : offset + length])

    def _take_batch(self, batch: Any) -> None:
        # More than the log holds: a batch goes on in the next term, and no driver cleans the log.
        if len(batch) > FRAGMENT_LIMIT or any(len(message) > self._term_length for message in batch):
            raise FindingError("a batch has more messages than were asked for, or one that is longer than a term")
        batch.to_list()

    def _take_block(self, block: Any) -> None:
        with block:
            if sum(len(payload) for payload in block.payloads()) > max(LENGTH_LIMIT, self._term_length):
                raise FindingError("the payloads of a block are longer than a term")
            block.copy()
            with contextlib.suppress(ValueError):  # payloads of other lengths
                block.records("<i4")

    def _poll_rows(self, image: Image) -> None:
        with contextlib.suppress(ValueError):  # payloads of other lengths
            image.poll_into(self._rows)
