"""What channel URIs ask of publications and subscriptions, with the wire codes of the official Java driver."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelValueError
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.publication_params import PublicationParams, StreamFacts, check_mtu_fits_sndbuf
from aerowire.driver.channels.subscription_params import SubscriptionParams, check_window_fits_rcvbuf
from aerowire.driver.context import Context

CONTEXT = Context(environ={})


@dataclass
class Existing:
    session_id: int = 77
    mtu_length: int = 4096
    term_length: int = 131072
    channel: str = "aeron:udp?endpoint=localhost:1|tags=1,9"


@dataclass
class Directory:
    tagged: dict[tuple[int, bool], Existing] = field(default_factory=dict)

    def publication_by_tag(self, tag: int, /, *, is_ipc: bool) -> StreamFacts | None:
        return self.tagged.get((tag, is_ipc))

    def next_session_id(self, _stream_id: int, _canonical_form: str, /) -> int:
        return 4242

    def random_term_id(self) -> int:
        return -5


def publication(parameters: str = "", *, media: str = "udp?endpoint=localhost:1", directory: Directory | None = None) -> PublicationParams:
    uri = ChannelUri.parse(f"aeron:{media}" + (f"|{parameters}" if parameters else ""))
    return PublicationParams.of(uri, CONTEXT, directory or Directory(), 10, "UDP-x")


def subscription(parameters: str = "", publisher_term_length: int = 0) -> SubscriptionParams:
    uri = ChannelUri.parse("aeron:udp?endpoint=localhost:1" + (f"|{parameters}" if parameters else ""))
    return SubscriptionParams.of(uri, CONTEXT, publisher_term_length)


def test_a_bare_channel_takes_the_driver_s_defaults() -> None:
    params = publication()
    assert (params.term_length, params.mtu_length, params.window_length) == (16 << 20, 1408, 8 << 20)
    assert (params.session_id, params.initial_term_id, params.term_id, params.term_offset) == (4242, -5, -5, 0)
    assert (params.has_position, params.signal_eos, params.is_sparse, params.max_resend) == (False, True, True, 16)
    assert (params.linger_timeout_ns, params.response_correlation_id, params.entity_tag) == (5_000_000_000, -1, -1)


def test_ipc_has_its_own_term_length() -> None:
    assert publication(media="ipc?alias=x").term_length == 64 << 20


def test_parameters_beat_defaults() -> None:
    params = publication(
        "term-length=64k|mtu=4k|pub-wnd=8k|session-id=-3|linger=1s|eos=false|sparse=false|ssc=true|max-resend=256|tags=1,2"
    )
    assert (params.term_length, params.mtu_length, params.window_length, params.session_id) == (65536, 4096, 8192, -3)
    assert (params.linger_timeout_ns, params.signal_eos, params.is_sparse, params.spies_simulate_connection) == (10**9, False, False, True)
    assert (params.max_resend, params.entity_tag) == (256, 2)


def test_a_start_position_takes_three_parameters_and_may_wrap() -> None:
    params = publication("init-term-id=2147483647|term-id=-2147483648|term-offset=64")
    assert (params.has_position, params.initial_term_id, params.term_id, params.term_offset) == (True, 2147483647, -2147483648, 64)


def test_a_session_tag_copies_the_tagged_stream() -> None:
    directory = Directory({(9, False): Existing()})
    params = publication("session-id=tag:9", directory=directory)
    assert (params.session_id, params.mtu_length, params.term_length, params.is_session_id_tagged) == (77, 4096, 131072, True)


@pytest.mark.parametrize(
    ("parameters", "part", "code"),
    [
        ("term-length=100k", "term length is impossible", ErrorCode.GENERIC_ERROR),
        ("term-length=32k", "term length is impossible", ErrorCode.GENERIC_ERROR),
        ("term-length=2147483647", "term length is impossible", ErrorCode.GENERIC_ERROR),
        ("mtu=1400", "MTU is impossible", ErrorCode.GENERIC_ERROR),
        ("mtu=65536", "MTU is impossible", ErrorCode.GENERIC_ERROR),
        ("mtu=32", "MTU is impossible", ErrorCode.GENERIC_ERROR),
        ("mtu=16k|term-length=64k", "longer than the longest message", ErrorCode.INVALID_CHANNEL),
        ("term-id=1", "given in part", ErrorCode.INVALID_CHANNEL),
        ("init-term-id=1|term-id=2", "given in part", ErrorCode.INVALID_CHANNEL),
        ("init-term-id=1|term-id=0|term-offset=0", "before the initial term id", ErrorCode.INVALID_CHANNEL),
        ("init-term-id=1|term-id=1|term-offset=33", "term offset is impossible", ErrorCode.INVALID_CHANNEL),
        ("init-term-id=1|term-id=1|term-offset=-32", "term offset is impossible", ErrorCode.INVALID_CHANNEL),
        ("init-term-id=1|term-id=1|term-offset=65568|term-length=64k", "beyond the term", ErrorCode.INVALID_CHANNEL),
        ("max-resend=0", "max-resend is out of range", ErrorCode.INVALID_CHANNEL),
        ("max-resend=257", "max-resend is out of range", ErrorCode.INVALID_CHANNEL),
        ("pub-wnd=1024", "smaller than one MTU", ErrorCode.INVALID_CHANNEL),
        ("pub-wnd=64k|term-length=64k", "larger than half a term", ErrorCode.INVALID_CHANNEL),
        ("stream-id=11", "differs from the command's", ErrorCode.INVALID_CHANNEL),
        ("tags=1,-1", "reserved", ErrorCode.INVALID_CHANNEL),
        ("tags=2,9", "in use", ErrorCode.INVALID_CHANNEL),
        ("session-id=tag:8", "no publication has", ErrorCode.INVALID_CHANNEL),
        ("session-id=tag:9|mtu=8k", "differs from the tagged", ErrorCode.INVALID_CHANNEL),
        ("session-id=tag:9|term-length=64k", "differs from the tagged", ErrorCode.INVALID_CHANNEL),
    ],
)
def test_refuses_what_no_publication_can_be(parameters: str, part: str, code: ErrorCode) -> None:
    with pytest.raises(ChannelValueError, match=part) as caught:
        publication(parameters, directory=Directory({(9, False): Existing()}))
    assert caught.value.error_code == code
    assert caught.value.expected is not None


def test_a_subscription_takes_the_driver_s_defaults() -> None:
    params = subscription()
    assert (params.session_id, params.is_reliable, params.is_rejoin, params.is_tether, params.group) == (None, True, True, True, None)
    assert params.receiver_window_length == 131072


def test_the_receiver_window_is_at_most_half_the_publisher_s_term() -> None:
    assert subscription(publisher_term_length=65536).receiver_window_length == 32768
    assert subscription("rcv-wnd=16k", publisher_term_length=65536).receiver_window_length == 16384


def test_an_untethered_subscriber_lingers_as_long_as_its_window_limit() -> None:
    assert subscription("untethered-window-limit-timeout=9s").untethered_linger_timeout_ns == 9_000_000_000
    assert subscription("untethered-linger-timeout=1s").untethered_linger_timeout_ns == 1_000_000_000


def test_a_subscription_reads_its_parameters() -> None:
    params = subscription("session-id=5|reliable=false|rejoin=false|tether=false|group=true|sparse=false")
    assert (params.session_id, params.is_reliable, params.is_rejoin, params.is_tether, params.group) == (5, False, False, False, True)


def test_a_subscription_s_session_cannot_be_a_tag() -> None:
    with pytest.raises(ChannelValueError, match="cannot be a tag"):
        subscription("session-id=tag:5")


def test_socket_buffers_bound_mtu_and_window() -> None:
    check_mtu_fits_sndbuf("c", 4096, 0, 4096)
    check_window_fits_rcvbuf("c", 4096, 4096, 1)
    with pytest.raises(ChannelValueError, match="SO_SNDBUF"):
        check_mtu_fits_sndbuf("c", 8192, 4096, 65536)
    with pytest.raises(ChannelValueError, match="SO_RCVBUF"):
        check_window_fits_rcvbuf("c", 8192, 0, 4096)
