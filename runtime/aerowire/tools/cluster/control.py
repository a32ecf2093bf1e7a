"""`aerowire cluster snapshot`, `suspend`, `resume`, `shutdown` and `abort`: requests of an operator to a cluster. Aeron: ClusterTool."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.tools.cluster.cluster_command import add_running_command, connect_to_driver, member_of, tell
from aerowire.tools.cluster.membership import LOOK_S, query_members, tell_why_silent
from aerowire.tools.directory_command import Subparsers, show, show_json

if TYPE_CHECKING:
    from aerowire.cluster.files.mark_header import ClusterMarkHeader
    from aerowire.codecs.tables.counters import CounterType
    from aerowire.ipc.counters import CountersManager
    from aerowire.tools.cluster.membership import Membership

_SNAPSHOT_TIMEOUT_S = 30.0
# By the state of a member that refuses a request.
_HINTS = {
    "SUSPENDED": "let the cluster go on first by: aerowire cluster resume DIR",
    "ACTIVE": "the cluster is not suspended",
    "SNAPSHOT": "a snapshot is being taken: try again when it is done",
    "TERMINATING": "the cluster is about to end",
    "CLOSED": "the member has ended",
}
_FINDING = "the member does not lead, is in another state, is obeying another request, or has not answered in time"


@dataclass(frozen=True, slots=True)
class _Request:
    """A request to a leader by its control toggle. `state` is the one in which a leader accepts it."""

    toggle: str
    state: str = "ACTIVE"
    is_awaited: bool = False


class _RefusedError(Exception):
    """A request that was refused: the reason in the official tool's words, and a hint."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.hint = hint


def snapshot_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster snapshot`."""
    _add(
        subparsers,
        "snapshot",
        _Request("SNAPSHOT", is_awaited=True),
        "have all members take a snapshot",
        "Have the leader and its followers take a snapshot, and wait for the leader's.",
        timeout_s=_SNAPSHOT_TIMEOUT_S,
    )


def suspend_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster suspend`."""
    _add(
        subparsers,
        "suspend",
        _Request("SUSPEND"),
        "let a cluster append no more messages and timers to its log",
        "Let the leader append neither messages of clients nor timers to the log, until `cluster resume`.",
    )


def resume_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster resume`."""
    _add(
        subparsers,
        "resume",
        _Request("RESUME", state="SUSPENDED", is_awaited=True),
        "let a suspended cluster go on",
        "Let the leader of a suspended cluster append messages and timers again.",
    )


def shutdown_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster shutdown`."""
    _add(
        subparsers,
        "shutdown",
        _Request("SHUTDOWN"),
        "end a whole cluster in order, with a snapshot",
        "Have all members take a snapshot and end. Returns at once: the end of each member's process shows that it is done.",
    )


def abort_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster abort`."""
    _add(
        subparsers,
        "abort",
        _Request("ABORT"),
        "end a whole cluster without a snapshot",
        "Have all members end without a snapshot; they replay their log when they start again. Returns at once.",
    )


def _add(
    subparsers: Subparsers[argparse.ArgumentParser], name: str, request: _Request, purpose: str, description: str, timeout_s: float = 1.0
) -> None:
    add_running_command(
        subparsers,
        name,
        lambda arguments: _run(arguments, request),
        purpose=purpose,
        description=f"{description} DIR is the leader's, which `cluster list-members` on any member tells.",
        done="asked, and done where that is waited for",
        finding=_FINDING,
        timeout_s=timeout_s,
    )


def _run(arguments: argparse.Namespace, request: _Request) -> int:
    """Make a request, and wait for its end if it is awaited; returns 1 for a request that was refused."""
    header = member_of(arguments).component.header
    with connect_to_driver(header) as aeron:
        membership = query_members(aeron, header, arguments.timeout)
    if membership is None:
        _say(arguments, request, None, "Timed out querying cluster.", is_applied=False)
        tell_why_silent(header)
        return 1
    prefix = f"Member [{membership.member_id}]: "
    try:
        _ask(header, membership, request, arguments.timeout)
    except _RefusedError as refused:
        _say(arguments, request, membership, f"{prefix}{refused}", is_applied=False)
        tell(refused.hint)
        return 1
    _say(arguments, request, membership, f"{prefix}{request.toggle} applied successfully", is_applied=True)
    return 0


def _say(arguments: argparse.Namespace, request: _Request, membership: Membership | None, text: str, *, is_applied: bool) -> None:
    if arguments.json:
        member_id = None if membership is None else membership.member_id
        show_json({"request": request.toggle, "member_id": member_id, "applied": is_applied, "message": text})
    else:
        show(text)


def _ask(header: ClusterMarkHeader, membership: Membership, request: _Request, timeout_s: float) -> None:
    """Set the toggle of a leader. Raises _RefusedError."""
    from aerowire.base.directory import CNC_FILE_NAME
    from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ConsensusModuleState
    from aerowire.codecs.tables.counters import CounterType
    from aerowire.ipc.cnc import CncFile
    from aerowire.ipc.counters import AtomicCounter

    if membership.leader_member_id != membership.member_id:
        why = f"Current node is not the leader (leaderMemberId = {membership.leader_member_id}), unable to {request.toggle}"
        raise _RefusedError(why, _where_the_leader_is(membership))
    with CncFile.map(Path(header.aeron_directory) / CNC_FILE_NAME) as cnc:
        counters = cnc.counters_manager()
        state = _counter(counters, CounterType.CLUSTER_CONSENSUS_MODULE_STATE, header.cluster_id)
        toggle = _counter(counters, CounterType.CLUSTER_CONTROL_TOGGLE, header.cluster_id)
        if state is None or toggle is None:
            raise _RefusedError("Unable to resolve state of consensus module.", "it has ended meanwhile, or is about to start: try again")
        found = ConsensusModuleState(counters.value(state)).name
        if found != request.state:
            why = f"Unable to {request.toggle} as the state of the consensus module is {found}, but needs to be {request.state}"
            raise _RefusedError(why, _HINTS.get(found, "try again when `aerowire stat` shows another consensus module state"))
        counter = AtomicCounter(counters, toggle)
        wanted = ClusterControlToggle[request.toggle]
        is_resuming = wanted is ClusterControlToggle.RESUME and counter.get() == ClusterControlToggle.SUSPEND
        before = ClusterControlToggle.SUSPEND if is_resuming else ClusterControlToggle.NEUTRAL
        if not counter.compare_and_set(before, wanted):
            current = ClusterControlToggle(counter.get()).name
            why = f"Failed to apply {request.toggle}, current toggle value = {current}"
            raise _RefusedError(why, "the cluster is doing what it was asked to before: try again when that is done")
        if request.is_awaited:
            _await(lambda: counter.get() == ClusterControlToggle.NEUTRAL, request, timeout_s)


def _await(is_done: Callable[[], bool], request: _Request, timeout_s: float) -> None:
    from aerowire.client.handles.waiting import wait_for

    if not wait_for(is_done, int(timeout_s * 1e9), sleep_max_s=LOOK_S):
        why = f"Timed out after {round(timeout_s * 1000)}ms waiting for {request.toggle} to complete."
        raise _RefusedError(why, "it may be done later: `aerowire cluster recording-log` shows new snapshots; --timeout waits longer")


def _where_the_leader_is(membership: Membership) -> str:
    leader = next((one for one in membership.active_members if one.member_id == membership.leader_member_id), None)
    if leader is None:
        return "no member leads now: try again after the election"
    return f"run the command on the directory of member {leader.member_id}, whose consensus endpoint is {leader.consensus_endpoint}"


def _counter(counters: CountersManager, kind: CounterType, cluster_id: int) -> int | None:
    """Return the id of a counter of a cluster's member; None where the driver has none."""
    from aerowire.codecs.flyweights.cnc import ClusterCounterKeyEncoder

    key = ClusterCounterKeyEncoder.encode(cluster_id=cluster_id)
    return next((info.counter_id for info in counters.for_each() if info.type_id == kind and info.key.startswith(key)), None)
