"""Channels of members, as the official members write them."""

from __future__ import annotations

from types import SimpleNamespace

from aerowire.cluster.module import channels

LOG_CHANNEL = "aeron:udp?term-length=64m"


def test_the_consensus_channel_leaves_by_the_own_address() -> None:
    bound = channels.consensus_publication("aeron:udp", "b:2", "a:1", is_bound=True)
    assert bound == "aeron:udp?endpoint=b:2|control=a:0"
    assert channels.consensus_publication("aeron:udp?mtu=8k", "b:2", "a:1", is_bound=False) == "aeron:udp?mtu=8k|endpoint=b:2"


def test_a_new_log_begins_at_term_0() -> None:
    channel = channels.log_publication(
        LOG_CHANNEL, tags=(7, 6), own_endpoint="a:1", is_bound=True, is_alone=False, position=0, recording=None
    )
    assert channel == (
        "aeron:udp?term-length=64m|alias=log|tags=7,6|control-mode=manual|control=a:0|ssc=false|init-term-id=0|term-id=0|term-offset=0"
    )


def test_a_log_goes_on_where_its_recording_ends() -> None:
    recording = SimpleNamespace(initial_term_id=3, term_buffer_length=65536, mtu_length=1408)
    channel = channels.log_publication(
        "aeron:ipc",
        tags=(7, 6),
        own_endpoint="a:1",
        is_bound=True,
        is_alone=True,
        position=65536 + 96,
        recording=recording,
    )
    assert channel == "aeron:ipc?alias=log|tags=7,6|init-term-id=3|term-id=4|term-offset=96|term-length=65536|mtu=1408"


def test_a_log_with_an_endpoint_goes_to_all_by_it() -> None:
    channel = channels.log_publication(
        "aeron:udp?endpoint=224.0.1.1:40456", tags=(7, 6), own_endpoint="a:1", is_bound=True, is_alone=False, position=0, recording=None
    )
    assert "control-mode" not in channel
    assert channels.live_log_destination("aeron:udp?endpoint=224.0.1.1:40456", "a:1") == "aeron:udp?endpoint=224.0.1.1:40456"
    assert channels.live_log_destination("aeron:udp?interface=lo|term-length=1m", "a:1") == "aeron:udp?endpoint=a:1|interface=lo"


def test_archive_and_services_read_the_leaders_log_by_its_tag() -> None:
    assert channels.leader_recording(LOG_CHANNEL, 7, -5) == "aeron:udp?tags=7|session-id=-5|alias=log"
    assert channels.leader_services(LOG_CHANNEL, 7, -5) == "aeron-spy:aeron:udp?tags=7|session-id=-5|alias=log"
    assert channels.leader_services("aeron:ipc", 7, -5) == "aeron:ipc?tags=7|session-id=-5|alias=log"


def test_a_follower_takes_one_session_by_destinations() -> None:
    assert channels.follower_log("aeron:udp?term-length=64m|rcv-wnd=256k", (1, 2), 9) == (
        "aeron:udp?tags=1,2|control-mode=manual|session-id=9|group=true|rejoin=false|rcv-wnd=256k|alias=log-cm"
    )


def test_a_catch_up_comes_under_the_logs_session() -> None:
    assert channels.catchup_replay("aeron:udp", "c:3", 9, 2) == (
        "aeron:udp?endpoint=c:3|session-id=9|linger=0|eos=false|alias=catchup-followerId-2"
    )


def test_a_port_that_the_system_chose_is_told() -> None:
    assert channels.resolved_endpoint("host:0", None) is None
    assert channels.resolved_endpoint("host:0", "127.0.0.1:4711") == "host:4711"
    assert channels.resolved_endpoint("host:20", None) == "host:20"
