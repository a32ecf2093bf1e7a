"""A leader's replays of its log to followers that catch up. Aeron: ConsensusModuleAgent.onCatchupPosition, stopExistingCatchupReplay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.client.parameters import ReplayParams
from aerowire.base.errors import AerowireError
from aerowire.base.units import INT64_MAX
from aerowire.cluster.module import channels

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.consensus.effects import StartCatchup
    from aerowire.cluster.module.core import ModuleCore


class CatchupReplays:
    """At most one replay to each follower. Changed by `start`, `stop` and `poll`.

    A replay that fails has no result for the machine: its follower asks again. Invariant: a replay is starting or running, not both.
    """

    def __init__(self, core: ModuleCore) -> None:
        """Start without replays."""
        self._core = core
        self._starting: dict[int, Pending[int]] = {}
        self._running: dict[int, int] = {}
        self._stopping: list[Pending[int]] = []

    def start(self, effect: StartCatchup, recording_id: int) -> None:
        """Begin a replay to a follower."""
        self.stop(effect.member_id)
        context = self._core.context
        channel = channels.catchup_replay(
            context.follower_catchup_channel, effect.catchup_endpoint, effect.log_session_id, effect.member_id
        )
        # As the official leader asks for a replay that goes on with the recording.
        params = ReplayParams(position=effect.position, length=INT64_MAX)
        self._starting[effect.member_id] = self._core.archive.async_start_replay(recording_id, channel, context.log_stream_id, params)

    def poll(self) -> None:
        """Look whether replays have begun, and end those that were stopped before that."""
        for member_id, pending in tuple(self._starting.items()):
            try:
                if pending.poll():
                    del self._starting[member_id]
                    self._running[member_id] = pending.result()
            except AerowireError as error:
                self._starting.pop(member_id, None)
                self._core.errors.record(f"catchup replay failed - {error}", key="catchup replay failed")
        for pending in [pending for pending in self._stopping if pending.poll()]:
            self._stopping.remove(pending)
            if pending.is_fulfilled:
                self._stop_replay(pending.result())

    def stop(self, member_id: int) -> None:
        """End the replay to a follower, if there is one; one that is starting is ended once the archive has named it."""
        pending = self._starting.pop(member_id, None)
        if pending is not None:
            self._stopping.append(pending)
        replay_session_id = self._running.pop(member_id, None)
        if replay_session_id is not None:
            self._stop_replay(replay_session_id)

    def stop_all(self) -> None:
        """End all replays."""
        for member_id in sorted({*self._starting, *self._running}):
            self.stop(member_id)

    def _stop_replay(self, replay_session_id: int) -> None:
        if self._core.archive.is_connected:
            self._core.archive.async_stop_replay(replay_session_id)
