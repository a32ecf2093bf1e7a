"""A replay of the member's own log to itself and its services, up to a position. Aeron: LogReplay."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.parameters import ReplayParams
from aerowire.archive.client.replay_commands import session_id_of
from aerowire.base.errors import ConsensusModuleError
from aerowire.cluster.consensus.inputs import ReplayDone
from aerowire.cluster.module import channels
from aerowire.codecs.flyweights.cnc import ClusterRole

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_consumption import LogConsumption
    from aerowire.cluster.module.node_services.service_control import ServiceControl


def replay_log(
    core: ModuleCore,
    consumption: LogConsumption,
    services: ServiceControl,
    recording_id: int,
    from_position: int,
    to_position: int,
    may_go_on: Callable[[], bool],
) -> Generator[Pending[Any] | None, Any, ReplayDone]:
    """Replay a part of a recording, in steps. `may_go_on` returns whether the member has done what the log has asked for so far."""
    archive, aeron, context = core.archive, core.aeron, core.context
    params = ReplayParams(position=from_position, length=to_position - from_position)
    replay_session_id: int = yield archive.async_start_replay(recording_id, context.replay_channel, context.replay_stream_id, params)
    subscription: Subscription | None = None
    try:
        session_id = session_id_of(replay_session_id)
        channel = channels.with_parameters(context.replay_channel, session_id=session_id)
        subscription = yield aeron.async_add_subscription(channel, context.replay_stream_id)
        image = yield from await_image(core, subscription, session_id)
        if image.join_position != from_position:
            raise ConsensusModuleError(
                "the replay begins at another position", where=channel, expected=from_position, actual=image.join_position
            )
        consumption.join(image)
        yield from services.join_log(
            log_position=from_position,
            max_log_position=to_position,
            log_session_id=session_id,
            log_stream_id=context.replay_stream_id,
            is_startup=True,
            role=ClusterRole.FOLLOWER,
            log_channel=channel,
        )
        consumption.limit(to_position)
        while not may_go_on() or consumption.position < to_position:
            if consumption.end is not None and consumption.position < to_position:
                raise ConsensusModuleError("unexpected image close when replaying log", where=f"position {consumption.position}")
            yield None
        return ReplayDone(consumption.position)
    finally:
        if not aeron.is_closed:
            if consumption.position < to_position and archive.is_connected:  # one that is complete ends by itself
                archive.async_stop_replay(replay_session_id)
            consumption.leave()
            if subscription is not None:
                subscription.close()


def await_image(core: ModuleCore, subscription: Subscription, session_id: int) -> Generator[None, Any, Image]:
    """Return the image of a session, in steps. Raises ConsensusModuleError where it does not come in time."""
    check = core.deadline(f"no image of the replay's session {session_id}")
    while (image := subscription.image_by_session_id(session_id)) is None:
        check()
        yield
    return image
