"""Flow control of groups with literal times, positions and frames: the fastest, the slowest, and the slowest with a tag."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import ErrorFlags, ErrorFrameEncoder, SmFlags, StatusMessageEncoder
from aerowire.protocol.flow_control import FlowControl, MaxFlowControl
from aerowire.protocol.min_flow_control import MinFlowControl
from aerowire.protocol.tagged_flow_control import TaggedFlowControl

SECOND = 1_000_000_000
WINDOW = 1_000
KIB = 1024
LEGACY_TAG = b"\xff\xff\xff\xff"


def minimum(**options: Any) -> MinFlowControl:
    return MinFlowControl(4, 128 * KIB, receiver_timeout_ns=options.pop("timeout", 5 * SECOND), **options)


def tagged(**options: Any) -> TaggedFlowControl:
    return TaggedFlowControl(4, 128 * KIB, receiver_timeout_ns=5 * SECOND, group_tag=options.pop("tag", 77), **options)


def status(receiver_id: int, *, flags: int = 0, window: int = WINDOW, behind: bytes = b"") -> bytes:
    length = StatusMessageEncoder.ENCODED_LENGTH + len(behind)
    return StatusMessageEncoder.encode(frame_length=length, flags=flags, receiver_window=window, receiver_id=receiver_id) + behind


def tag(value: int) -> bytes:
    return struct.pack("<q", value)


def error(receiver_id: int, group_tag: int | None = None) -> bytes:
    flags = 0 if group_tag is None else ErrorFlags.HAS_GROUP_TAG
    return ErrorFrameEncoder.encode(flags=flags, receiver_id=receiver_id, group_tag=group_tag or 0, error_text="")


class Sender:
    """A sender limit that a strategy moves."""

    def __init__(self, flow: FlowControl, limit: int = 0) -> None:
        self.flow = flow
        self.limit = limit

    def hears(self, receiver_id: int, position: int, now_ns: int = 0, *, window: int = WINDOW, flags: int = 0, behind: bytes = b"") -> int:
        frame = status(receiver_id, flags=flags, window=window, behind=behind)
        self.limit = self.flow.limit_after_status_message(frame, position, self.limit, now_ns)
        return self.limit

    def idles(self, now_ns: int) -> int:
        self.limit = self.flow.limit_when_idle(now_ns, self.limit, 0)
        return self.limit


def test_max_follows_the_fastest_receiver_and_never_falls() -> None:
    sender = Sender(MaxFlowControl(4, 128 * KIB))
    assert sender.hears(1, 4_000) == 5_000
    assert sender.hears(2, 0) == 5_000
    assert sender.hears(2, 6_000) == 7_000
    assert sender.idles(100 * SECOND) == 7_000
    assert sender.flow.is_satisfied


def test_min_follows_the_slowest_receiver() -> None:
    sender = Sender(minimum())
    assert sender.hears(1, 0) == 1_000
    assert sender.hears(2, 0) == 1_000
    assert sender.hears(1, 5_000) == 1_000
    assert sender.hears(2, 500) == 1_500
    assert sender.idles(SECOND) == 1_500
    assert sender.hears(2, 5_000) == 6_000


def test_min_lets_go_of_a_silent_receiver_and_then_follows_the_others() -> None:
    flow = minimum()
    sender = Sender(flow)
    sender.hears(1, 0, 0)
    sender.hears(2, 0, 0)
    sender.hears(1, 5_000, 4 * SECOND)
    assert sender.idles(5 * SECOND) == 1_000
    assert flow.receiver_count == 2
    assert sender.idles(5 * SECOND + 1) == 6_000
    assert flow.receiver_count == 1


def test_the_receiver_timeout_is_what_the_channel_says() -> None:
    flow = minimum(timeout=SECOND)
    sender = Sender(flow)
    sender.hears(1, 0, 0)
    sender.idles(SECOND)
    assert flow.receiver_count == 1
    sender.idles(SECOND + 1)
    assert flow.receiver_count == 0


def test_without_receivers_the_limit_stays() -> None:
    sender = Sender(minimum(), limit=777)
    assert sender.idles(SECOND) == 777


def test_a_receiver_more_than_a_window_behind_is_not_waited_for() -> None:
    flow = minimum()
    sender = Sender(flow)
    sender.hears(1, 10_000)
    assert sender.hears(2, 8_999) == 11_000
    assert flow.receiver_count == 1
    assert sender.hears(2, 9_000) == 11_000, "the limit does not fall for one that joins within a window"
    assert flow.receiver_count == 2
    assert sender.idles(0) == 10_000, "but an idle cycle shows the slowest's"


def test_a_receiver_that_says_its_end_leaves_in_the_next_idle_cycle() -> None:
    flow = minimum()
    sender = Sender(flow)
    sender.hears(1, 0)
    sender.hears(2, 5_000)
    assert flow.receiver_count == 2
    sender.hears(1, 0, flags=SmFlags.EOS)
    assert flow.receiver_count == 2
    assert sender.idles(0) == 6_000
    assert flow.receiver_count == 1


def test_a_receiver_that_ends_is_not_added() -> None:
    flow = minimum()
    Sender(flow).hears(1, 0, flags=SmFlags.EOS)
    assert flow.receiver_count == 0


def test_an_error_of_a_receiver_takes_it_out() -> None:
    flow = minimum()
    sender = Sender(flow)
    sender.hears(1, 0)
    sender.hears(2, 5_000)
    flow.apply_error(error(3), 0)
    sender.idles(0)
    assert flow.receiver_count == 2
    flow.apply_error(error(1), 0)
    assert sender.idles(0) == 6_000
    assert flow.receiver_count == 1


def test_a_group_below_its_size_is_not_connected_and_its_limit_stands_still() -> None:
    flow = minimum(group_min_size=2)
    sender = Sender(flow)
    assert not flow.is_satisfied
    assert sender.hears(1, 0) == 0
    assert not flow.is_satisfied
    assert sender.hears(2, 0) == 1_000
    assert flow.is_satisfied
    sender.hears(1, 2_000, 4 * SECOND)
    assert sender.idles(6 * SECOND) == 1_000, "one of the two is gone"
    assert not flow.is_satisfied
    assert sender.hears(1, 9_000, 6 * SECOND) == 1_000


def test_a_set_up_that_a_member_asked_for_holds_the_limit_until_it_joins() -> None:
    sender = Sender(minimum())
    sender.hears(1, 0)
    sender.flow.apply_setup_request(status(2, flags=SmFlags.SEND_SETUP), 0)
    assert sender.flow.limit_after_setup(sender.limit, 0, SECOND) == 1_000
    assert sender.hears(1, 3_000, SECOND) == 1_000
    assert sender.idles(SECOND) == 1_000
    assert sender.hears(2, 3_000, 2 * SECOND) == 1_000
    assert sender.hears(2, 3_000, 2 * SECOND) == 4_000


def test_a_held_limit_is_let_go_after_the_receiver_timeout() -> None:
    sender = Sender(minimum())
    sender.hears(1, 0)
    sender.flow.apply_setup_request(status(2, flags=SmFlags.SEND_SETUP), 0)
    sender.flow.limit_after_setup(sender.limit, 0, 0)
    sender.hears(1, 3_000, 4 * SECOND)
    assert sender.idles(5 * SECOND) == 1_000
    assert sender.idles(5 * SECOND + 1) == 4_000


def test_a_set_up_that_nobody_asked_for_or_of_a_lonely_sender_holds_nothing() -> None:
    sender = Sender(minimum())
    sender.flow.limit_after_setup(0, 0, 0)
    sender.flow.apply_setup_request(status(1, flags=SmFlags.SEND_SETUP), 0)
    sender.flow.limit_after_setup(0, 0, 0)
    assert sender.hears(1, 0) == 1_000
    sender.flow.limit_after_setup(sender.limit, 0, 0)
    assert sender.hears(1, 2_000) == 3_000


def test_tagged_waits_for_the_slowest_with_its_tag_alone() -> None:
    flow = tagged()
    sender = Sender(flow)
    sender.hears(1, 0, behind=tag(77))
    sender.hears(2, 0)
    sender.hears(3, 0, behind=tag(78))
    assert flow.receiver_count == 1
    assert sender.hears(2, 50_000) == 1_000
    assert sender.hears(3, 50_000, behind=tag(78)) == 1_000
    assert sender.hears(1, 4_000, behind=tag(77)) == 5_000


def test_a_tagged_group_without_members_follows_anybody_unless_it_needs_some() -> None:
    assert Sender(tagged()).hears(2, 3_000) == 4_000
    assert Sender(tagged(group_min_size=1)).hears(2, 3_000) == 0


@pytest.mark.parametrize(
    ("behind", "counts"),
    [(LEGACY_TAG, 1), (LEGACY_TAG + b"\x00" * 8, 1), (b"\xff\xff\xff\xfe", 0), (b"\xff\xff\xff", 0), (b"\xff" * 8, 0)],
)
def test_the_older_four_bytes_of_feedback_count_as_the_tag(behind: bytes, counts: int) -> None:
    flow = tagged()
    Sender(flow).hears(1, 0, behind=behind)
    assert flow.receiver_count == counts


def test_the_older_four_bytes_are_those_that_the_group_is_told() -> None:
    flow = tagged(legacy_tag=int.from_bytes(b"\x01\x02\x03\xf4", "little", signed=True))
    sender = Sender(flow)
    sender.hears(1, 0, behind=LEGACY_TAG)
    assert flow.receiver_count == 0
    sender.hears(1, 0, behind=b"\x01\x02\x03\xf4")
    assert flow.receiver_count == 1


def test_eight_bytes_of_the_older_feedback_are_the_tag_minus_one() -> None:
    flow = tagged(tag=-1)
    Sender(flow).hears(1, 0, behind=b"\xff" * 8)
    assert flow.receiver_count == 1


def test_an_error_takes_a_tagged_receiver_out_only_with_its_tag() -> None:
    flow = tagged()
    sender = Sender(flow)
    sender.hears(1, 0, behind=tag(77))
    for frame in (error(1), error(1, 78)):
        flow.apply_error(frame, 0)
        sender.idles(0)
        assert flow.receiver_count == 1
    flow.apply_error(error(1, 77), 0)
    sender.idles(0)
    assert flow.receiver_count == 0


def test_a_set_up_that_a_stranger_asked_for_holds_nothing() -> None:
    sender = Sender(tagged())
    sender.hears(1, 0, behind=tag(77))
    sender.flow.apply_setup_request(status(2, flags=SmFlags.SEND_SETUP), 0)
    sender.flow.limit_after_setup(sender.limit, 0, 0)
    assert sender.hears(1, 4_000, behind=tag(77)) == 5_000


@pytest.mark.parametrize(
    "make",
    [lambda multiple: MaxFlowControl(multiple, 128 * KIB), lambda multiple: MinFlowControl(multiple, 128 * KIB, receiver_timeout_ns=1)],
)
def test_retransmissions_are_clipped_to_windows_and_to_the_term(make: Callable[[int], FlowControl]) -> None:
    flow = make(2)
    assert flow.retransmission_length(0, 1 << 24, 1 << 24) == 256 * KIB
    assert flow.retransmission_length((1 << 24) - 64, 128, 1 << 24) == 64
    assert flow.retransmission_length(0, 64 * KIB, 64 * KIB) == 64 * KIB
    assert make(1).retransmission_length(0, 64 * KIB, 64 * KIB) == 32 * KIB
    with pytest.raises(ValueError, match="at least 1"):
        make(0)


def test_many_receivers_are_told_apart() -> None:
    flow = minimum()
    sender = Sender(flow)
    for receiver_id in range(1_000):
        sender.hears(receiver_id, 500)
    assert flow.receiver_count == 1_000
    sender.hears(999, 400)
    assert sender.idles(0) == 1_400


def test_short_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="36"):
        minimum().limit_after_status_message(b"\0" * 35, 0, 0, 0)
    with pytest.raises(ValueError, match="40"):
        minimum().apply_error(b"\0" * 39, 0)
