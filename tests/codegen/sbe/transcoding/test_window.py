"""The window over a stream: what it holds, what it waits for, and that it tells before it waits."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from aerowire.codegen.sbe.transcoding import window as module
from aerowire.codegen.sbe.transcoding.window import Window


class Feed:
    """A pipe that gets its next piece whenever its reader is about to wait; without pieces left it ends."""

    def __init__(self, *pieces: bytes) -> None:
        self.reading, self.writing = os.pipe()
        self.waits = 0
        self._pieces = list(pieces)
        self.window = Window(self.reading, self.feed)

    def feed(self) -> None:
        self.waits += 1
        if self._pieces:
            os.write(self.writing, self._pieces.pop(0))
        elif self.writing >= 0:
            self.close()

    def close(self) -> None:
        if self.writing >= 0:
            os.close(self.writing)
        self.writing = -1


@pytest.fixture
def feeds() -> Iterator[list[Feed]]:
    made: list[Feed] = []
    yield made
    for feed in made:
        feed.close()
        os.close(feed.reading)


def test_holds_what_is_wanted_and_drops_what_is_done(feeds: list[Feed]) -> None:
    feeds.append(feed := Feed(b"abcd", b"ef", b"gh"))
    window = feed.window
    assert window.fill(1)
    window.start = 3
    assert window.fill(4)
    assert (window.data, window.position, feed.waits) == (b"defgh", 3, 3)
    assert not window.fill(6)
    assert window.is_ended


def test_without_patience_it_takes_no_more_than_is_wanted_and_there(feeds: list[Feed]) -> None:
    feeds.append(feed := Feed(b"abcd", b"e", b"f", b"g", b"h", b"i"))
    feed.window.fill(4)
    assert feed.window.fill(5)
    assert feed.window.data == b"abcde"


def test_with_patience_it_takes_twice_as_much_as_there_was(feeds: list[Feed]) -> None:
    feeds.append(feed := Feed(b"abcd", b"e", b"f", b"g", b"h", b"i"))
    feed.window.fill(4)
    assert feed.window.fill(5, patience_s=60.0)
    assert feed.window.data == b"abcdefgh"


def test_lines_come_whole_and_the_last_one_needs_no_end(feeds: list[Feed]) -> None:
    feeds.append(feed := Feed(b"one\ntw", b"o\n\nth", b"ree"))
    assert [feed.window.line() for _ in range(5)] == [b"one", b"two", b"", b"three", None]


def test_line_that_is_too_long_is_cut_and_skipped(feeds: list[Feed], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_MAX", 8)
    feeds.append(feed := Feed(b"12345", b"67890", b"abcde", b"fg\nnext\n"))
    line = feed.window.line()
    assert line is not None
    assert len(line) >= 8
    feed.window.skip_line()
    assert feed.window.line() == b"next"


def test_rest_is_counted_without_being_held(feeds: list[Feed]) -> None:
    feeds.append(feed := Feed(b"abcd", b"efg", b"h"))
    feed.window.fill(2)
    feed.window.start = 1
    assert feed.window.drop() == 7
    assert feed.window.data == b""
