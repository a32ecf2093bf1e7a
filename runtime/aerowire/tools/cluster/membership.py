"""`aerowire cluster list-members` and `is-leader`: a cluster as one of its running members knows it. Aeron: ClusterTool."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from aerowire.tools.cluster.cluster_command import add_command, add_running_command, connect_to_driver, member_of, tell
from aerowire.tools.directory_command import Subparsers, show, show_json

if TYPE_CHECKING:
    from aerowire.client import Aeron
    from aerowire.cluster.files.mark_header import ClusterMarkHeader
    from aerowire.codecs.flyweights.cluster.messages.cluster_members_extended_response import (
        ClusterMembersExtendedResponse,
        ClusterMembersExtendedResponseActiveMembers,
    )

LOOK_S = 0.001  # the longest sleep between two looks at what a member does
_NULL_VALUE = -1
SILENT = "timeout waiting for response from node"


def list_members_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster list-members`."""
    add_running_command(
        subparsers,
        "list-members",
        run_list_members,
        purpose="ask a running member which one leads, and the leader how far each log goes",
        description="Ask a running member for the members of its cluster, and which one leads. Only the leader knows how far the log of "
        "each one goes, and when it has said so.",
        done="shown",
        finding="the member has not answered in time",
    )


def is_leader_command(subparsers: Subparsers[argparse.ArgumentParser]) -> None:
    """Register `cluster is-leader`."""
    add_command(
        subparsers,
        "is-leader",
        run_is_leader,
        purpose="tell by the exit code whether a running member leads its cluster",
        description="Tell by the exit code whether a member leads its cluster and its election has ended; prints nothing.",
        examples=("node0/cluster && echo leads", "node0/cluster --json"),
        done="it leads",
        finding="it does not",
        reached=", or reached",
    )


@dataclass(frozen=True, slots=True)
class Membership:
    """A cluster as one of its members knows it."""

    current_time_ns: int
    leader_member_id: int
    member_id: int
    active_members: list[ClusterMembersExtendedResponseActiveMembers]

    def __str__(self) -> str:
        """Return it as the official tool prints it."""
        members = ", ".join(_member_text(one, self.leader_member_id) for one in self.active_members)
        ids = f"leaderMemberId={self.leader_member_id}, memberId={self.member_id}"
        return f"currentTimeNs={self.current_time_ns}, {ids}, activeMembers=[{members}]"

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        members = [asdict(one) for one in self.active_members]
        leader, member = self.leader_member_id, self.member_id
        return {"current_time_ns": self.current_time_ns, "leader_member_id": leader, "member_id": member, "active_members": members}


def run_list_members(arguments: argparse.Namespace) -> int:
    """Show the members; returns 1 where the member does not answer."""
    header = member_of(arguments).component.header
    with connect_to_driver(header) as aeron:
        membership = query_members(aeron, header, arguments.timeout)
    if membership is None:
        show(SILENT)
        tell_why_silent(header)
        return 1
    if arguments.json:
        show_json(membership.to_dict())
    else:
        from aerowire.base.text import printable

        show(printable(str(membership)))
    return 0


def run_is_leader(arguments: argparse.Namespace) -> int:
    """Return 0 for a member that leads, else 1."""
    from aerowire.cluster.files.member_directory import is_leader

    header = member_of(arguments).component.header
    with connect_to_driver(header) as aeron:
        leads = is_leader(aeron.counters_reader, header.cluster_id)
    if arguments.json:
        show_json({"is_leader": leads})
    return 0 if leads else 1


def query_members(aeron: Aeron, header: ClusterMarkHeader, timeout_s: float) -> Membership | None:
    """Ask a consensus module for the members of its cluster; return None if it has not answered in time."""
    from aerowire.client.handles.waiting import wait_for
    from aerowire.client.subscriptions.assembler import FragmentAssembler
    from aerowire.codecs.flyweights.cluster.dispatch import decode
    from aerowire.codecs.flyweights.cluster.enums import BooleanType
    from aerowire.codecs.flyweights.cluster.messages.cluster_members_extended_response import ClusterMembersExtendedResponse
    from aerowire.codecs.flyweights.cluster.messages.cluster_members_query import ClusterMembersQuery
    from aerowire.codecs.support.errors import SbeError

    correlation_id = aeron.next_correlation_id()
    is_asked = False
    answers: list[ClusterMembersExtendedResponse] = []

    def on_message(buffer: memoryview, offset: int, length: int, _header: object) -> None:
        try:
            message = decode(bytes(buffer[offset : offset + length]))
        except SbeError:
            return  # messages to services may be of any form
        if isinstance(message, ClusterMembersExtendedResponse) and message.correlation_id == correlation_id:
            answers.append(message)

    assembler = FragmentAssembler(on_message)
    query = ClusterMembersQuery(correlation_id=correlation_id, extended=BooleanType.TRUE).encode()
    with (
        aeron.add_subscription(header.control_channel, header.service_stream_id) as subscription,
        aeron.add_publication(header.control_channel, header.consensus_module_stream_id) as publication,
    ):

        def is_answered() -> bool:
            nonlocal is_asked
            if is_asked:
                subscription.poll(assembler, 1)
            else:  # an answer that comes before the subscription is connected is lost
                is_asked = subscription.is_connected and publication.offer(query) > 0
            return bool(answers)

        return _membership(answers[0]) if wait_for(is_answered, int(timeout_s * 1e9), sleep_max_s=LOOK_S) else None


def tell_why_silent(header: ClusterMarkHeader) -> None:
    """Show on standard error how old the last sign of life of a member is that does not answer."""
    from aerowire.tools.terminal.figures import age_text

    if header.activity_timestamp_ms == _NULL_VALUE:
        life = "it has ended"
    else:
        life = f"it has shown that it lives {age_text(time.time_ns() // 1_000_000 - header.activity_timestamp_ms)} ago"
    tell(f"process {header.pid} does not answer: {life}; start it by `aerowire cluster start`, or wait longer with --timeout")


def _membership(answer: ClusterMembersExtendedResponse) -> Membership:
    return Membership(answer.current_time_ns, answer.leader_member_id, answer.member_id, list(answer.active_members))


def _member_text(member: ClusterMembersExtendedResponseActiveMembers, leader_member_id: int) -> str:
    """Return a member as the official tool prints it; fields that an answer lacks have the values that it prints then."""
    names = ("ingress_endpoint", "consensus_endpoint", "log_endpoint", "catchup_endpoint", "archive_endpoint")
    endpoints = [getattr(member, name) for name in names]
    first, *others = "ingressEndpoint", "consensusEndpoint", "logEndpoint", "catchupEndpoint", "archiveEndpoint"
    named = ", ".join(f"{name}='{endpoint}'" for name, endpoint in zip((first, *others), endpoints, strict=True))
    return (
        f"ClusterMember{{id={member.member_id}, isBallotSent=false, isLeader={str(member.member_id == leader_member_id).lower()}, "
        f"leadershipTermId={member.leadership_term_id}, logPosition={member.log_position}, candidateTermId={_NULL_VALUE}, "
        f"catchupReplaySessionId={_NULL_VALUE}, correlationId={_NULL_VALUE}, "
        f"timeOfLastAppendPositionNs={member.time_of_last_append_ns}, {named}, endpoints='{','.join(endpoints)}', "
        "publication=null, vote=null}"
    )
