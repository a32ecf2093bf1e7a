"""Polls whose handler says how to go on, polls of blocks and of the file, and whole messages from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from aerowire.base.errors import AerowireError, ClosedError
from aerowire.client import (
    Action,
    Aeron,
    ControlledFragmentAssembler,
    ExclusivePublication,
    Header,
    Image,
    ImageControlledFragmentAssembler,
    ImageFragmentAssembler,
    Subscription,
)

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"
FRAME = 64  # bytes in the log of a message of 1 to 32 bytes


class Stream:
    """An exclusive publication with one image of it."""

    def __init__(self, client: Aeron) -> None:
        self.publication: ExclusivePublication = client.add_exclusive_publication(CHANNEL, 5)
        self.subscription: Subscription = client.add_subscription(CHANNEL, 5)
        self.image: Image = self.subscription.images[0]

    def send(self, *messages: bytes) -> None:
        for message in messages:
            assert self.publication.offer(message) > 0


@pytest.fixture
def stream(aeron: Aeron) -> Stream:
    return Stream(aeron)


class Script:
    """A handler that answers with the given actions in turn, then None, and notes what it saw and where the image then stood."""

    def __init__(self, image: Image, *actions: Action | None) -> None:
        self.image = image
        self.actions: Iterator[Action | None] = iter(actions)
        self.seen: list[tuple[bytes, int]] = []

    def __call__(self, buffer: memoryview, offset: int, length: int, _header: Header) -> Action | None:
        self.seen.append((bytes(buffer[offset : offset + length]), self.image.position))
        return next(self.actions, None)


def test_continue_moves_the_position_at_the_end(stream: Stream) -> None:
    stream.send(b"a", b"b", b"c")
    script = Script(stream.image, Action.CONTINUE, None, Action.CONTINUE)
    assert stream.image.controlled_poll(script) == 3
    assert script.seen == [(b"a", 0), (b"b", 0), (b"c", 0)]
    assert stream.image.position == 3 * FRAME


def test_commit_moves_the_position_at_once(stream: Stream) -> None:
    stream.send(b"a", b"b", b"c")
    script = Script(stream.image, Action.COMMIT, Action.CONTINUE, Action.COMMIT)
    assert stream.image.controlled_poll(script) == 3
    assert script.seen == [(b"a", 0), (b"b", FRAME), (b"c", FRAME)]
    assert stream.image.position == 3 * FRAME


def test_break_ends_the_poll_after_the_fragment(stream: Stream) -> None:
    stream.send(b"a", b"b", b"c")
    assert stream.image.controlled_poll(Script(stream.image, None, Action.BREAK)) == 2
    assert stream.image.position == 2 * FRAME


def test_abort_leaves_the_fragment_for_the_next_poll(stream: Stream) -> None:
    stream.send(b"a", b"b")
    assert stream.image.controlled_poll(Script(stream.image, Action.ABORT)) == 0
    assert stream.image.position == 0
    script = Script(stream.image, Action.COMMIT, Action.ABORT)
    assert stream.image.controlled_poll(script) == 1
    assert stream.image.position == FRAME
    again = Script(stream.image)
    assert stream.image.controlled_poll(again) == 1
    assert again.seen == [(b"b", FRAME)]


def test_an_abort_behind_padding_counts_the_padding_as_read(stream: Stream) -> None:
    assert stream.publication.append_padding(32) > 0
    stream.send(b"a")
    assert stream.image.controlled_poll(Script(stream.image, Action.ABORT)) == 0
    assert stream.image.position == FRAME


def test_the_padding_at_the_end_of_a_term_counts_as_read(stream: Stream, driver: FakeDriver) -> None:
    length = stream.publication.term_buffer_length
    while stream.image.position < length - FRAME:
        stream.send(b"x")
        assert stream.image.controlled_poll(Script(stream.image)) == 1
        driver.invoke()
    assert stream.publication.offer(bytes(FRAME)) == stream.publication.ADMIN_ACTION
    stream.send(b"next term")
    script = Script(stream.image)
    assert stream.image.controlled_poll(script) == 0
    assert stream.image.position == length
    assert stream.image.controlled_poll(script) == 1
    assert script.seen == [(b"next term", length)]


def test_a_bound_keeps_later_fragments_back(stream: Stream) -> None:
    stream.send(b"a", b"b", b"c")
    script = Script(stream.image)
    assert stream.image.bounded_controlled_poll(script, FRAME + 1) == 2
    assert stream.image.bounded_controlled_poll(script, 2 * FRAME) == 0
    assert [seen for seen, _ in script.seen] == [b"a", b"b"]


def test_the_fragment_limit_holds_over_several_images(aeron: Aeron, stream: Stream) -> None:
    other = aeron.add_exclusive_publication(CHANNEL, 5)
    stream.subscription.poll(lambda *_: None)
    aeron.invoke()
    assert stream.subscription.image_count == 2
    stream.send(b"a", b"b")
    assert other.offer(b"c") > 0
    seen: list[bytes] = []

    def handler(_buffer: memoryview, _offset: int, _length: int, header: Header) -> Action:
        seen.append(header.payload())
        return Action.CONTINUE

    assert stream.subscription.controlled_poll(handler, 2) == 2
    assert stream.subscription.controlled_poll(handler, 2) == 1
    assert sorted(seen) == [b"a", b"b", b"c"]


def test_another_answer_than_an_action_is_refused(stream: Stream) -> None:
    stream.send(b"a")
    with pytest.raises(TypeError, match="an Action or None, not 3"):
        stream.image.controlled_poll(lambda *_: 3)  # type: ignore[arg-type]
    assert stream.image.position == FRAME


def test_what_a_handler_raises_goes_to_the_subscriber_error_handler(connect: Callable[..., Aeron]) -> None:
    errors: list[Exception] = []
    stream = Stream(connect(subscriber_error_handler=errors.append))
    stream.send(b"a", b"b", b"c", b"d", b"e")

    def fail(*_: object) -> None:
        raise ValueError("broken")

    assert stream.image.poll(fail) == 1
    assert stream.image.controlled_poll(fail) == 1
    assert stream.subscription.poll(fail) == 1
    assert stream.image.bounded_poll(fail, 10 * FRAME) == 1
    assert stream.image.block_poll(fail, 10 * FRAME) == FRAME
    assert [str(error) for error in errors] == ["broken"] * 5
    assert stream.image.position == 5 * FRAME

    def poll_inside(*_: object) -> None:
        stream.image.poll(fail)

    stream.send(b"f")
    assert stream.image.poll(poll_inside) == 1
    assert isinstance(errors[-1], AerowireError)


@pytest.mark.parametrize("assembler_class", [ControlledFragmentAssembler, ImageControlledFragmentAssembler])
def test_an_aborted_message_of_several_fragments_comes_again(stream: Stream, assembler_class: type[Any]) -> None:
    message = os.urandom(3 * stream.publication.max_payload_length + 5)
    stream.send(b"short", message)
    script = Script(stream.image, None, Action.ABORT, Action.ABORT, Action.COMMIT)
    assembler = assembler_class(script)
    assert stream.image.controlled_poll(assembler) == 4
    before = stream.image.position
    assert stream.image.controlled_poll(assembler) == 0
    assert stream.image.position == before
    assert stream.image.controlled_poll(assembler) == 1
    assert [seen for seen, _ in script.seen] == [b"short", message, message, message]
    assert stream.image.position == stream.publication.position


@pytest.mark.parametrize("assembler_class", [ControlledFragmentAssembler, ImageControlledFragmentAssembler, ImageFragmentAssembler])
def test_a_message_that_lost_its_beginning_is_dropped(stream: Stream, assembler_class: type[Any]) -> None:
    message = os.urandom(2 * stream.publication.max_payload_length)
    seen: list[bytes] = []
    assembler = assembler_class(lambda _b, _o, _l, header: seen.append(header.payload()))
    poll: Callable[..., int] = stream.image.poll if assembler_class is ImageFragmentAssembler else stream.image.controlled_poll
    stream.send(message, message)
    assert stream.image.poll(lambda *_: None, 1) == 1
    assert poll(assembler) == 3
    assert seen == [message]
    stream.send(message)
    assert poll(assembler, 1) == 1
    assembler.clear()
    assert poll(assembler, 1) == 1
    assert seen == [message]


def test_the_assembled_header_covers_the_whole_message(stream: Stream) -> None:
    message = os.urandom(2 * stream.publication.max_payload_length + 1)
    stream.send(message)
    headers: list[tuple[int, int, int | None]] = []

    def handler(_buffer: memoryview, _offset: int, _length: int, header: Header) -> None:
        assert header.context is stream.image
        headers.append((header.position, header.frame_length, header.fragmented_frame_length))

    stream.image.poll(ImageFragmentAssembler(handler))
    assert headers == [(stream.publication.position, 32 + len(message), stream.publication.position)]


def test_block_poll_hands_over_whole_frames(stream: Stream) -> None:
    stream.send(b"a", b"b", b"c")
    blocks: list[tuple[int, int, int, int]] = []

    def handler(buffer: memoryview, offset: int, length: int, session_id: int, term_id: int) -> None:
        assert bytes(buffer[offset + 32 : offset + 33]) in {b"a", b"c"}
        blocks.append((offset, length, session_id, term_id))

    assert stream.image.block_poll(handler, FRAME - 1) == 0
    assert stream.image.block_poll(handler, 3 * FRAME - 1) == 2 * FRAME
    assert stream.subscription.block_poll(handler, 1 << 30) == FRAME
    assert stream.image.block_poll(handler, 0) == 0
    session_id, term_id = stream.publication.session_id, stream.publication.term_id
    assert blocks == [(0, 2 * FRAME, session_id, term_id), (2 * FRAME, FRAME, session_id, term_id)]
    assert stream.image.position == 3 * FRAME


def test_block_poll_hands_over_padding_by_itself(stream: Stream) -> None:
    stream.send(b"a")
    assert stream.publication.append_padding(1000) > 0
    stream.send(b"b")
    lengths: list[int] = []
    while stream.image.block_poll(lambda _b, _o, length, *_: lengths.append(length), 4096):
        pass
    assert lengths == [FRAME, 1056, FRAME]


def test_raw_poll_says_where_in_the_file_the_frames_lie(stream: Stream, driver: FakeDriver) -> None:
    stream.send(b"first", b"second")
    files = []

    def handler(file: Any, file_offset: int, buffer: memoryview, offset: int, length: int, _session_id: int, _term_id: int) -> None:
        files.append(file)
        assert os.pread(file.fileno(), length, file_offset) == bytes(buffer[offset : offset + length])

    assert stream.image.raw_poll(handler, FRAME) == FRAME
    assert stream.subscription.raw_poll(handler, FRAME) == FRAME
    assert files[0] is files[1]
    assert files[0].name == str(driver.streams[-1].path)


def test_polls_of_a_closed_subscription_raise(stream: Stream) -> None:
    stream.subscription.close()
    for poll in (stream.subscription.controlled_poll, stream.image.controlled_poll):
        with pytest.raises(ClosedError):
            poll(lambda *_: None)
    for blocks in (stream.subscription.block_poll, stream.subscription.raw_poll, stream.image.block_poll, stream.image.raw_poll):
        with pytest.raises(ClosedError):
            blocks(lambda *_: None, 100)
