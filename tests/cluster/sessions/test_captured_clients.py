"""Official clients as they were captured: a member, given what they sent, answers and appends what the official members did.

From cluster_catchup.pcap and cluster_election_session.pcap (tests/data/captures-archive-cluster), with their ports, times and terms.
"""

from __future__ import annotations

from aerowire.cluster.sessions import inputs
from aerowire.cluster.sessions.effects import AppendSessionClose, AppendSessionOpen, BackupResponse, Effect, OpenResponse, Send
from aerowire.cluster.sessions.extension_message import ExtensionMessage
from aerowire.cluster.sessions.inputs import IngressImage, Input
from aerowire.cluster.sessions.request_codec import decode_ingress
from aerowire.cluster.sessions.session_manager import SessionManager
from aerowire.cluster.sessions.session_options import SessionOptions
from aerowire.codecs.tables.counters import CounterType, format_label
from aerowire.security.authentication import Authenticator
from aerowire.security.authorisation import ALLOW_ALL
from tests.cluster.sessions.abstract_agent import AbstractAgent

INGRESS_ENDPOINTS = "0=127.0.0.1:9102,1=127.0.0.1:9202,2=127.0.0.1:9302"
IMAGE = IngressImage(7, "127.0.0.1:40000", -1555450688)

# cluster_catchup: the client asks member 2, a follower, then member 0, the leader; it keeps its session alive, and closes it.
CONNECT_FOLLOWER = (
    "100003006f001100060000000000000066000000000300002f0000006165726f6e3a7564703f72656a6f696e3d66616c73657c656e64706f696e743d3132372e302e302e31"
    "3a3338363532000000002f0000006e616d653d2076657273696f6e3d312e35332e302d534e415053484f5420636f6d6d69743d36336331316136393134"
)
REDIRECT = (
    "2c0002006f001100ffffffffffffffff0600000000000000000000000000000000000000020000000003000000ca9a3b0000000032000000303d3132372e302e302e313a39"
    "3130322c313d3132372e302e302e313a393230322c323d3132372e302e302e313a39333032"
)
CONNECT_LEADER = CONNECT_FOLLOWER.replace("0600000000000000660000", "0c00000000000000660000")
OPEN_EVENT = (
    "240015006f00110000000000000000000c000000000000000100000000000000f1f572fda1010000660000002f0000006165726f6e3a7564703f72656a6f696e3d66616c73"
    "657c656e64706f696e743d3132372e302e302e313a333836353200000000"
)
OPENED = "2c0002006f00110001000000000000000c00000000000000000000000000000000000000000000000003000000ca9a3b0000000000000000"
KEEP_ALIVE = "100005006f00110000000000000000000100000000000000"
CLOSE_REQUEST = "100004006f00110000000000000000000100000000000000"
CLOSE_EVENT = "1c0016006f00110000000000000000000100000000000000122b73fda101000000000000"
# cluster_election_session: a client asks for a snapshot.
ADMIN_REQUEST = "1c001a006f0011000000000000000000010000000000000063000000000000000000000000000000"
ADMIN_RESPONSE = "18001b006f0011000100000000000000630000000000000000000000000000000000000000000000"

OPEN_TIME, CLOSE_TIME = 1795253532145, 1795253545746
CHANNEL = "aeron:udp?rejoin=false|endpoint=127.0.0.1:38652"


class Member:
    """A member whose clients are there, and what it sends and appends, in hexadecimal digits."""

    def __init__(self, member_id: int, begun: Input) -> None:
        options = SessionOptions(
            member_id=member_id,
            ingress_endpoints=INGRESS_ENDPOINTS,
            session_timeout_ns=10_000_000_000,
            leader_heartbeat_timeout_ns=1_000_000_000,
        )
        self.effects: list[Effect] = []
        self.agent = AbstractAgent(SessionManager(options, Authenticator(), ALLOW_ALL), 10, self.effects.append)
        self.agent.clients.add(CHANNEL)
        self.agent.give(inputs.ActivityChanged(True))
        self.agent.give(begun)

    def receive(self, message: str) -> list[str]:
        """Give the member a message; return the log's events and the answers that follow."""
        given = decode_ingress(bytes.fromhex(message), IMAGE)
        assert given is not None
        assert not isinstance(given, ExtensionMessage)
        self.effects.clear()
        self.agent.give(given)
        output = []
        for effect in self.effects:
            if isinstance(effect, AppendSessionOpen):
                output.append(effect.encode(OPEN_TIME))
            elif isinstance(effect, AppendSessionClose):
                output.append(effect.encode(CLOSE_TIME))
            elif isinstance(effect, Send):
                assert not isinstance(effect.message, BackupResponse)
                output.append(effect.message.encode())
        return [each.hex() for each in output]


def test_a_follower_redirects_as_the_official_one() -> None:
    member = Member(2, inputs.FollowingBegun(0, 0))
    assert member.receive(CONNECT_FOLLOWER) == [REDIRECT]


def test_a_leader_opens_keeps_and_closes_a_session_as_the_official_one() -> None:
    member = Member(0, inputs.LeadershipBegun(0, False))
    assert member.receive(CONNECT_LEADER) == [OPEN_EVENT, OPENED]
    for _ in range(4):
        member.agent.now_ns += 9_000_000_000
        assert member.receive(KEEP_ALIVE) == []
        member.agent.tick()
    assert member.receive(ADMIN_REQUEST) == [ADMIN_RESPONSE]
    assert member.receive(CLOSE_REQUEST) == [CLOSE_EVENT]


def test_the_counter_of_a_session_tells_of_its_client() -> None:
    member = Member(0, inputs.LeadershipBegun(0, False))
    member.receive(CONNECT_LEADER)
    opened = next(effect for effect in member.effects if isinstance(effect, OpenResponse))
    label = format_label(CounterType.CLUSTER_SESSION, client_info=opened.info, cluster_id=5)
    client = "name= version=1.53.0-SNAPSHOT commit=63c11a6914 sourceIdentity=127.0.0.1:40000 sessionId=-1555450688"
    assert label == f"cluster-session: {client} - clusterId=5"
