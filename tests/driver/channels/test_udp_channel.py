"""UDP channels: addresses, and the canonical form by which endpoints are shared. Literals as the official Java driver has them."""

from __future__ import annotations

import pytest

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelError, ChannelValueError, UnknownHostError
from aerowire.base.socket_address import SocketAddress
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.udp_channel import ControlMode, UdpChannel, names_to_resolve
from aerowire.driver.context import Context
from aerowire.driver.resources.endpoint_sockets import explicit_control, receiver_socket
from aerowire.system.interfaces import InterfaceAddress

INTERFACES = (
    InterfaceAddress("lo", 1, "127.0.0.1", is_loopback=True, supports_multicast=False),
    InterfaceAddress("eth0", 2, "192.168.1.20"),
    InterfaceAddress("lo", 1, "::1", is_loopback=True, supports_multicast=False),
    InterfaceAddress("eth0", 2, "fe80::20"),
    InterfaceAddress("eth1", 4, "fe80::20"),
    InterfaceAddress("down0", 3, "10.0.0.1", is_up=False),
)
HOSTS = {"localhost": "127.0.0.1", "inside": "192.168.1.20", "six": "2001:db8::6"}


def parse(text: str, *, is_destination: bool = False) -> UdpChannel:
    return UdpChannel.resolve(ChannelUri.parse(text), resolver=HOSTS.get, interfaces=lambda: INTERFACES, is_destination=is_destination)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("aeron:udp?endpoint=localhost:40123", "UDP-0.0.0.0:0-localhost:40123"),
        ("aeron:udp?endpoint=127.0.0.1:40123", "UDP-0.0.0.0:0-127.0.0.1:40123"),
        ("aeron:udp?endpoint=[::1]:40123", "UDP-:::0-[::1]:40123"),
        ("aeron:udp?endpoint=localhost:40123|interface=127.0.0.1", "UDP-127.0.0.1:0-localhost:40123"),
        ("aeron:udp?endpoint=localhost:40123|interface=127.0.0.1:7777/32", "UDP-127.0.0.1:7777-localhost:40123"),
        ("aeron:udp?endpoint=localhost:40123|interface=192.168.0.0/16", "UDP-192.168.1.20:0-localhost:40123"),
        ("aeron:udp?endpoint=localhost:40123|interface={eth0}:5", "UDP-192.168.1.20:5-localhost:40123"),
        ("aeron:udp?endpoint=localhost:40123|interface=inside", "UDP-192.168.1.20:0-localhost:40123"),
        ("aeron:udp?endpoint=localhost:40123|interface=inside:7/16", "UDP-192.168.1.20:7-localhost:40123"),
        ("aeron:udp?endpoint=[::1]:40123|interface=[fe80::20%eth1]:7/64", "UDP-fe80::20:7-[::1]:40123"),
        ("aeron:udp?endpoint=224.20.30.39:40124|interface=localhost", "UDP-127.0.0.1:0-224.20.30.39:40124"),
        ("aeron:udp?endpoint=224.20.30.39:40124", "UDP-192.168.1.20:0-224.20.30.39:40124"),
        ("aeron:udp?control=localhost:40200|control-mode=dynamic", "UDP-localhost:40200-0.0.0.0:0"),
        ("aeron:udp?control=localhost:40200|endpoint=localhost:40300", "UDP-localhost:40200-localhost:40300"),
        ("aeron:udp?endpoint=localhost:0|tags=1001", "UDP-0.0.0.0:0-localhost:0#1001"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert parse(text).canonical_form == canonical


def test_other_parameters_do_not_change_the_canonical_form() -> None:
    plain = parse("aeron:udp?endpoint=localhost:40123")
    assert parse("aeron:udp?alias=x|endpoint=localhost:40123|mtu=4k").canonical_form == plain.canonical_form


def test_channels_with_port_0_are_never_shared() -> None:
    text = "aeron:udp?endpoint=localhost:0"
    assert parse(text).canonical_form != parse(text).canonical_form
    assert parse(text, is_destination=True).canonical_form == parse(text, is_destination=True).canonical_form


def test_reads_addresses_and_lengths() -> None:
    channel = parse(
        "aeron:udp?endpoint=localhost:40123|control=localhost:40200|so-rcvbuf=1m|so-sndbuf=2m|rcv-wnd=64k|nak-delay=5us|gtag=-7"
    )
    assert (channel.remote_data.host, channel.remote_data.port) == ("127.0.0.1", 40123)
    assert (channel.local_control.host, channel.local_control.port) == ("127.0.0.1", 40200)
    assert (channel.socket_rcvbuf_length, channel.socket_sndbuf_length, channel.receiver_window_length) == (1 << 20, 2 << 20, 1 << 16)
    assert (channel.nak_delay_ns, channel.group_tag) == (5_000, -7)
    assert (channel.has_explicit_control, channel.control_mode) == (True, ControlMode.NONE)
    assert (channel.channel_rcv_timestamp_offset, channel.is_multicast) == (-1, False)


def test_reserved_timestamp_offset_is_the_reserved_value_before_the_message() -> None:
    assert parse("aeron:udp?endpoint=localhost:1|channel-snd-ts-offset=reserved").channel_snd_timestamp_offset == -8


def test_multicast_control_is_the_next_address() -> None:
    channel = parse("aeron:udp?endpoint=224.20.30.39:40124|ttl=4")
    assert str(channel.remote_control) == "224.20.30.40:40124"
    assert str(parse("aeron:udp?endpoint=224.20.30.255:40124").remote_control) == "224.20.30.0:40124"
    assert str(parse("aeron:udp?endpoint=[ff02::1f]:40124").remote_control) == "[ff02::20]:40124"
    assert (channel.is_multicast, channel.multicast_ttl) == (True, 4)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("aeron:udp", "does not say where"),
        ("aeron:udp?control-mode=dynamic", "needs an explicit control"),
        ("aeron:udp?control-mode=dynamic|endpoint=localhost:4", "needs an explicit control"),
        ("aeron:ipc", "not a UDP channel"),
        ("aeron:udp?endpoint=localhost", "not an address"),
        ("aeron:udp?endpoint=localhost:", "not an address"),
        ("aeron:udp?endpoint=localhost:70000", "not an address"),
        ("aeron:udp?endpoint=[::1]", "not an address"),
        ("aeron:udp?endpoint=[::zz]:4", "not an address"),
        ("aeron:udp?endpoint=224.20.30.38:40124", "even"),
        ("aeron:udp?endpoint=[::1]:4|control=localhost:5", "differ in family"),
        ("aeron:udp?endpoint=localhost:4|interface=nowhere", "interface is not an address"),
        ("aeron:udp?endpoint=localhost:4|interface=172.16.0.0/12", "no interface matches"),
        ("aeron:udp?endpoint=localhost:4|interface=10.0.0.0/8", "no interface matches"),
        ("aeron:udp?endpoint=localhost:4|interface={wlan0}", "interface is unknown"),
        ("aeron:udp?endpoint=localhost:4|interface=[::1]", "differ in family"),
        ("aeron:udp?endpoint=localhost:4|interface=six", "differ in family"),
        ("aeron:udp?endpoint=[::1]:4|interface=[fe80::20%wlan0]", "no interface matches"),
    ],
)
def test_refuses_a_channel_it_cannot_mean(text: str, part: str) -> None:
    with pytest.raises(ChannelError, match=part) as caught:
        parse(text)
    assert caught.value.error_code == ErrorCode.INVALID_CHANNEL


def test_an_unknown_host_has_its_own_error() -> None:
    with pytest.raises(UnknownHostError, match="endpoint=nosuchhost:40123") as caught:
        parse("aeron:udp?endpoint=nosuchhost:40123")
    assert caught.value.error_code == ErrorCode.UNKNOWN_HOST


def test_a_tag_refers_to_a_channel_of_the_same_address() -> None:
    first = parse("aeron:udp?endpoint=localhost:40123|tags=7")
    assert first.matches_tag(parse("aeron:udp?tags=7"))
    assert first.matches_tag(parse("aeron:udp?tags=7|endpoint=localhost:40123"))
    assert not first.matches_tag(parse("aeron:udp?tags=8|endpoint=localhost:40123"))
    moved = SocketAddress("127.0.0.9", 40124)
    assert first.matches_tag(parse("aeron:udp?tags=7|endpoint=127.0.0.9:40124"), remote=moved)
    with pytest.raises(ChannelValueError):
        first.matches_tag(parse("aeron:udp?tags=7|endpoint=localhost:40123"), remote=moved)
    with pytest.raises(ChannelValueError, match="another endpoint"):
        first.matches_tag(parse("aeron:udp?tags=7|endpoint=localhost:40124"))


def test_a_scope_chooses_among_interfaces_with_one_address() -> None:
    for scope, index in (("eth0", 2), ("eth1", 4), ("4", 4)):
        channel = parse(f"aeron:udp?endpoint=[ff02::5]:4|interface=[fe80::20%{scope}]")
        assert channel.interface is not None
        assert (channel.interface.index, channel.local_data.scope_id) == (index, index)


def test_the_name_in_an_interface_is_looked_up_where_looking_up_may_take_long() -> None:
    for text, names in (("inside:4/24", ["inside:0"]), ("127.0.0.1/24", []), ("[::1]", []), ("{eth0}:4", [])):
        assert names_to_resolve(ChannelUri.parse(f"aeron:udp?interface={text}")) == names


def test_a_link_local_control_address_keeps_its_interface() -> None:
    channel = UdpChannel.resolve(ChannelUri.parse("aeron:udp?endpoint=[fe80::2%7]:40124|control=[fe80::1%7]:40123"))
    assert explicit_control(channel) == ("fe80::1", 40123, 0, 7)
    assert receiver_socket(channel, Context(environ={}), 0, 0).bind == SocketAddress("fe80::2", 40124, 7)
