"""Channel URIs, addresses and interfaces: the parsers that clients and drivers use."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.base.channel_keys import check_channel
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import AerowireError
from aerowire.driver.channels.udp_channel import UdpChannel
from aerowire.system.interfaces import InterfaceAddress
from tests.fuzz.target import FindingError

INTERFACES = (
    InterfaceAddress("lo", 1, "127.0.0.1", 8, is_loopback=True),
    InterfaceAddress("eth0", 2, "10.0.0.2", 24),
    InterfaceAddress("eth0", 2, "fe80::1", 64),
)


class ChannelTarget:
    """The text of a channel, as UTF-8; bytes that are none are replaced."""

    name = "channel"
    length_max = 300
    words = (
        *(b"aeron:udp?", b"aeron:ipc?", b"aeron-spy:", b"endpoint=", b"control=", b"interface=", b"control-mode=dynamic", b"tags=1,2"),
        *(
            b"224.0.1.1:40456",
            b"[::1]:0",
            b"10.0.0.2/24",
            b"{eth0}",
            b"localhost",
            b"%eth0",
            b"|",
            b"=",
            b"0x7fffffff",
            b"9223372036854775808",
        ),
        *(b"term-length=64k", b"mtu=8k", b"session-id=", b"fc=min,g:1,t:5s", b"nak-delay=", b"ttl=256", b"alias=", b"-1", b"99999999999g"),
        *(b"channel-rcv-ts-offset=", b"reserved", b"response", b"manual", b"linger=", b"eos=", b"\xd9\xa3"),
    )
    traced = (
        "base/channel",
        "driver/channels/udp_channel",
        "driver/channels/socket_address",
        "driver/channels/channel_values",
        "driver/channels/interfaces",
        "base/units",
    )

    def seeds(self) -> Iterable[bytes]:
        """Return a channel of each kind."""
        yield b"aeron:ipc?term-length=64k|mtu=1408"
        yield b"aeron:udp?endpoint=localhost:40123|interface=127.0.0.1/8|session-id=7"
        yield b"aeron:udp?endpoint=224.0.1.1:40456|interface=10.0.0.0/24|ttl=4|group=true"
        yield b"aeron:udp?endpoint=[::1]:40456|control=[fe80::1%eth0]:40457|control-mode=dynamic"
        yield b"aeron:udp?control=10.0.0.2:40457|control-mode=manual|nak-delay=20us|gtag=-7|rcv-wnd=128k|so-rcvbuf=2m"
        yield b"aeron-spy:aeron:udp?tags=3,4|channel-rcv-ts-offset=reserved|channel-snd-ts-offset=8"

    def execute(self, data: bytes) -> None:
        """Parse the text as a client, as a driver, and as a destination."""
        text = data.decode("utf-8", "replace")
        try:
            uri = ChannelUri.parse(text)
        except AerowireError:
            pass
        else:
            if ChannelUri.parse(str(uri)) != uri:
                raise FindingError(f"{text!r} differs from itself when it is written and parsed")
        for parse in (
            check_channel,
            lambda text: UdpChannel.resolve(ChannelUri.parse(text), resolver=self._resolve, interfaces=lambda: INTERFACES),
            lambda text: UdpChannel.resolve(
                ChannelUri.parse(text), resolver=self._resolve, interfaces=lambda: INTERFACES, is_destination=True
            ),
        ):
            try:
                parse(text)
            except AerowireError:
                continue

    @staticmethod
    def _resolve(host: str, /) -> str | None:
        return {"localhost": "127.0.0.1", "six": "::1"}.get(host)
