"""Makes the native flow control strategy of a publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.channels.flow_control_params import FlowControlParams, Strategy
from aerowire.protocol.flow_control import FlowControl, MaxFlowControl, UnicastFlowControl
from aerowire.protocol.min_flow_control import GroupWatcher, MinFlowControl
from aerowire.protocol.tagged_flow_control import TaggedFlowControl

if TYPE_CHECKING:
    from aerowire.ipc.counters import CountersManager


def make_flow_control(
    params: FlowControlParams, counters: CountersManager, receivers_counter_id: int | None, watcher: GroupWatcher | None = None
) -> FlowControl:
    """Make a strategy; one that counts receivers shows how many in the counter `receivers_counter_id`, and tells `watcher` which."""
    # What a receiver's window is assumed to be does not follow the driver's own option. Aeron: FlowControl.calculateRetransmissionLength.
    window_length = int(OPTIONS["rcv_initial_window_length"].default or 0)
    multiple = params.retransmit_window_multiple
    if params.strategy is Strategy.UNICAST:
        return UnicastFlowControl(multiple, window_length)
    if params.strategy is Strategy.MAX:
        return MaxFlowControl(multiple, window_length)
    assert receivers_counter_id is not None
    if params.strategy is Strategy.MIN:
        return MinFlowControl(
            multiple,
            window_length,
            receiver_timeout_ns=params.receiver_timeout_ns,
            group_min_size=params.group_min_size,
            counters=counters,
            receivers_counter_id=receivers_counter_id,
            watcher=watcher,
        )
    return TaggedFlowControl(
        multiple,
        window_length,
        receiver_timeout_ns=params.receiver_timeout_ns,
        group_tag=params.group_tag,
        legacy_tag=params.legacy_tag,
        group_min_size=params.group_min_size,
        counters=counters,
        receivers_counter_id=receivers_counter_id,
        watcher=watcher,
    )
