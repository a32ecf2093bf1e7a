"""What a persistent subscription hands on: messages of one image, or of a replay until its live stream is at the same frame.

Fragments of a message are put together across the two: they are the same frames.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.archive.client.parameters import NULL_POSITION
from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.assembler import ImageFragmentAssembler
from aerowire.client.subscriptions.controlled_assembler import ImageControlledFragmentAssembler

if TYPE_CHECKING:
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image

    FragmentHandler = Callable[[memoryview, int, int, Header], object]
    ControlledHandler = Callable[[memoryview, int, int, Header], Action | None]


class PersistentReader:
    """Reads for one handler at a time, `handler` or `controlled_handler`, which the caller sets before each read.

    Invariant: while they meet, `_next_position` is the end of the live stream's next frame, which the replay must not hand on.
    """

    def __init__(self) -> None:
        self.handler: FragmentHandler | None = None
        self.controlled_handler: ControlledHandler | None = None
        self._assembler = ImageFragmentAssembler(self._on_message)
        self._controlled_assembler = ImageControlledFragmentAssembler(self._on_controlled_message)
        self._replay: Image | None = None
        self._next_position = NULL_POSITION
        self._has_met = False

    def read(self, image: Image, fragment_limit: int) -> int:
        """Hand on what there is of an image, at most `fragment_limit` fragments; return how many."""
        if self.controlled_handler is not None:
            return image.controlled_poll(self._controlled_assembler, fragment_limit)
        return image.poll(self._assembler, fragment_limit)

    def meet(self, replay: Image, live: Image, fragment_limit: int) -> int:
        """Let the live stream pass over what the replay has handed on, and the replay hand on what is before the live stream."""
        self._replay = replay
        done = live.controlled_poll(self._on_live, fragment_limit)
        return done + replay.controlled_poll(self._on_replay, fragment_limit)

    def have_met(self, replay: Image, live: Image) -> bool:
        """Return whether the live stream goes on exactly where the replay has come to."""
        return self._has_met or replay.position == live.position

    def part(self) -> None:
        """Forget where they were to meet: the next live stream may be elsewhere."""
        self._replay = None
        self._next_position = NULL_POSITION
        self._has_met = False

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        assert self.handler is not None
        self.handler(buffer, offset, length, header)

    def _on_controlled_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action | None:
        assert self.controlled_handler is not None
        return self.controlled_handler(buffer, offset, length, header)

    def _on_live(self, _buffer: memoryview, _offset: int, _length: int, header: Header) -> Action:
        assert self._replay is not None
        if header.position <= self._replay.position:
            return Action.CONTINUE
        self._next_position = header.position
        return Action.ABORT

    def _on_replay(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action | None:
        if header.position == self._next_position:
            self._has_met = True
            return Action.ABORT
        if self.controlled_handler is not None:
            return self._controlled_assembler(buffer, offset, length, header)
        self._assembler(buffer, offset, length, header)
        return Action.CONTINUE
