"""A replay of the own log waits where the log asks for a snapshot: it is taken of the state at that position."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any, cast

from aerowire.cluster.module.log.log_replay import replay_log

_TO_POSITION = 192


class _Adapter:
    def __init__(self) -> None:
        self.position, self.is_image_closed = 0, False

    def join(self, _image: object) -> None:
        """Begin at the replay's start."""

    def poll(self, _bound: int) -> int:
        """Read one message."""
        self.position += 96
        return 1

    def leave(self) -> None:
        """End."""


def _join_log(**_options: object) -> Generator[None, None, None]:
    yield


def test_nothing_is_read_while_a_snapshot_is_taken() -> None:
    may_read = [True]
    adapter = _Adapter()
    image = SimpleNamespace(join_position=0)
    subscription = SimpleNamespace(image_by_session_id=lambda _session_id: image, close=lambda: None)
    core = SimpleNamespace(
        archive=SimpleNamespace(async_start_replay=lambda *_: "pending", is_connected=False),
        aeron=SimpleNamespace(async_add_subscription=lambda *_: "pending", is_closed=False),
        deadline=lambda _what: lambda: None,
        context=SimpleNamespace(replay_channel="aeron:ipc", replay_stream_id=103),
    )
    replay = replay_log(
        cast("Any", core), cast("Any", adapter), cast("Any", SimpleNamespace(join_log=_join_log)), 7, 0, _TO_POSITION, lambda: may_read[0]
    )
    next(replay)
    replay.send(1)
    replay.send(subscription)
    next(replay)
    assert adapter.position == 96
    may_read[0] = False
    for _ in range(3):
        next(replay)
    assert adapter.position == 96
    may_read[0] = True
    next(replay)
    assert adapter.position == _TO_POSITION
