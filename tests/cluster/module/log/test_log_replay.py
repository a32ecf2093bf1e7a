"""A replay of the own log ends once the snapshot is taken that the log asks for at its end."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from aerowire.cluster.consensus.inputs import ReplayDone
from aerowire.cluster.module.log.log_replay import replay_log

_TO_POSITION = 192


class _Consumption:
    def __init__(self) -> None:
        self.position, self.end, self.limits = 0, None, list[int]()

    def join(self, _image: object) -> None:
        """Begin at the replay's start."""

    def limit(self, position: int) -> None:
        """Note the limit."""
        self.limits.append(position)

    def leave(self) -> None:
        """End."""


def _join_log(**_options: object) -> Generator[None, None, None]:
    yield


def test_a_replay_has_not_ended_while_a_snapshot_is_taken_at_its_end() -> None:
    may_go_on = [True]
    consumption = _Consumption()
    image = SimpleNamespace(join_position=0)
    subscription = SimpleNamespace(image_by_session_id=lambda _session_id: image, close=lambda: None)
    core = SimpleNamespace(
        archive=SimpleNamespace(async_start_replay=lambda *_: "pending", is_connected=False),
        aeron=SimpleNamespace(async_add_subscription=lambda *_: "pending", is_closed=False),
        deadline=lambda _what: lambda: None,
        context=SimpleNamespace(replay_channel="aeron:ipc", replay_stream_id=103),
    )
    services = cast("Any", SimpleNamespace(join_log=_join_log))
    replay = replay_log(cast("Any", core), cast("Any", consumption), services, 7, 0, _TO_POSITION, lambda: may_go_on[0])
    next(replay)
    replay.send(1)
    replay.send(subscription)
    assert consumption.limits == [], "services have not joined yet"
    next(replay)
    assert consumption.limits == [_TO_POSITION]
    consumption.position, may_go_on[0] = _TO_POSITION, False
    for _ in range(3):
        next(replay)
    may_go_on[0] = True
    with pytest.raises(StopIteration) as end:
        next(replay)
    assert end.value.value == ReplayDone(_TO_POSITION)
