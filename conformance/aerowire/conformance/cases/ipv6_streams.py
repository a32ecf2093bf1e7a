"""Group U: IPv6."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.commands import AddressType
from aerowire.codecs.flyweights.transport import StatusMessageDecoder
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.cases.ipv6 import LOOPBACK6, need_ipv6
from aerowire.conformance.cases.refusals import expect_refusal
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, REACTION_MS, TERM_LENGTH, Bench, Source, Subscription
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import CommandRefused
from aerowire.conformance.harness.wire import LOOPBACK_INTERFACE, Wire, authority, free_port, join_group
from aerowire.conformance.model import Case, MachineLacks, case

if TYPE_CHECKING:
    from scapy.packet import Packet

# Of the block that documentation uses and no machine has.
FOREIGN = "2001:db8::1"
# How long a datagram to a group may take to the ear that listens for it.
GROUP_MS = 50.0
# How often a SETUP is repeated until somebody hears it.
REPEAT_MS = 50.0


@case(
    "U01",
    requirement="A receiver on an IPv6 address behaves as on IPv4: it asks for a SETUP, makes an image and answers.",
    source="Aeron: UdpChannel.parse; SocketAddressParser.tryParseIpV6; ReceiveChannelEndpoint.sendSetupElicitingStatusMessage",
    stimulus="DATA, then SETUP and DATA, of an unknown session to a subscription on [::1]",
    expected="an SM of 36 bytes with flag 0x80; an image whose source is the sender's address; a plain SM; the DATA delivered",
    bound="5 ms for the first SM",
)
def u01(bench: Bench) -> None:
    """A stream on ::1."""
    need_ipv6()
    source = bench.source(bench.subscribe(host=LOOPBACK6))
    left_ns = source.send(source.frames.data(0, b"before any setup"))
    arrival = source.expect_elicit(since_ns=left_ns)
    check_equal("length of the datagram", len(arrival.payload), StatusMessageDecoder.ENCODED_LENGTH)
    check_equal("source of the status message", arrival.source, source.subscription.address)
    image = source.start()
    check_equal("source of the image", read_authority(image.source_identity), (ipaddress.ip_address(LOOPBACK6), source.wire.port))
    source.send_data(0, b"over IPv6")
    source.expect_payloads(image, [b"over IPv6"])


def read_authority(text: str) -> tuple[object, int]:
    """Read `[host]:port`: an address has several spellings, and official drivers do not choose the same."""
    host, _, port = text.rpartition(":")
    return ipaddress.ip_address(host.strip("[]")), int(port)


@case(
    "U02",
    requirement="An IPv6 multicast channel has an odd last byte; receivers answer to the next address, on the same port.",
    source="Aeron: UdpChannel.getMulticastControlAddress; UdpChannel.validateDataAddress",
    stimulus="channels of an even group, then DATA and SETUP to a subscription of an odd link-local group",
    expected="errors for the even group; an asking SM and a plain one to the next group, and an image",
)
def u02(bench: Bench) -> None:
    """Groups of IPv6."""
    need_ipv6()
    # An odd last byte that has a next one.
    group = ipaddress.IPv6Address("ff02::") + (bench.random.randrange(2**24) << 8) + bench.random.randrange(1, 254, 2)
    even = f"endpoint={authority(str(group + 1), free_port(LOOPBACK6))}|interface=[{LOOPBACK6}]"
    expect_refusal(lambda: add_subscription(bench, even), "a subscription of an even group", ErrorCode.INVALID_CHANNEL)
    expect_refusal(lambda: add_publication(bench, even), "a publication to an even group", ErrorCode.INVALID_CHANNEL)
    if not carries_groups():
        raise MachineLacks(
            f"IPv6 multicast over {LOOPBACK_INTERFACE}",
            f"a datagram to a group is not heard there (ip -6 route add local ff00::/8 dev {LOOPBACK_INTERFACE} table local)",
        )
    subscription, control = bench.subscribe_group(str(group), host=LOOPBACK6)
    source = bench.source(subscription)
    until_heard(source, control, source.frames.data(0, b"unknown yet"), lambda frame: frames.is_elicit(frame) and is_of(source, frame))
    until_heard(source, control, source.frames.setup(), lambda frame: frames.is_plain_status(frame) and is_of(source, frame))
    source.expect_image()
    check_equal("datagrams to the sender itself", len(source.wire.arrivals), 0)


def is_of(source: Source, frame: Packet) -> bool:
    """Say whether a frame is of a source's session."""
    return bool(frame.session_id == source.frames.session_id)


def until_heard(source: Source, ear: Wire, stimulus: bytes, match: Callable[[Packet], bool]) -> None:
    """Repeat a stimulus until the control group brings the answer: the receiver may not listen yet."""
    deadline = time.monotonic() + CONDUCTOR_MS / 1e3
    while time.monotonic() < deadline:
        source.send(stimulus)
        if ear.collect(REPEAT_MS, match=match, start=0, until=match):
            return
    ear.expect(match, "a status message on the control group", within_ms=CONDUCTOR_MS)


@case(
    "U03",
    requirement="An IPv6 address of a channel may carry a scope, and interface= chooses the local address and port by address and prefix.",
    source="Aeron: SocketAddressParser.tryParseIpV6; InterfaceSearchAddress.resolve",
    stimulus="a subscription on [::1%lo], a publication with interface=[::1]:port/128, both with an interface that no machine has",
    expected="an image of the stream sent to the scoped endpoint; SETUPs from the chosen port; errors for the others",
)
def u03(bench: Bench) -> None:
    """Scopes and interfaces."""
    need_ipv6()
    port, stream_id = free_port(LOOPBACK6), bench.new_id()
    channel = f"aeron:udp?endpoint=[{LOOPBACK6}%{LOOPBACK_INTERFACE}]:{port}|interface=[{LOOPBACK6}]/128"
    source = bench.source(Subscription(bench.client.add_subscription(channel, stream_id), LOOPBACK6, port, stream_id))
    bench.expect(lambda: has_met(bench, source), "an image", within_ms=CONDUCTOR_MS)
    local_port = free_port(LOOPBACK6)
    sink = bench.publish(f"interface=[{LOOPBACK6}]:{local_port}/128", host=LOOPBACK6)
    check_equal("source of the SETUPs", sink.driver, (LOOPBACK6, local_port))
    foreign = f"endpoint={authority(LOOPBACK6, free_port(LOOPBACK6))}|interface=[{FOREIGN}]/128"
    expect_refusal(lambda: add_subscription(bench, foreign), "a subscription on an unknown interface")
    expect_refusal(lambda: add_publication(bench, foreign), "a publication on an unknown interface")


def has_met(bench: Bench, source: Source) -> bool:
    """Send a SETUP unless the session has its image; a moment later say whether it has."""
    if not source.images():
        source.send(source.frames.setup())
        bench.wait_until(lambda: bool(source.images()), REPEAT_MS)
    return bool(source.images())


@case(
    "U04",
    requirement="News of an error frame names an IPv6 receiver by address type 2, its port and all sixteen bytes of its address.",
    source="Aeron: PublicationErrorFrameFlyweight.sourceAddress; ClientProxy.onPublicationErrorFrame",
    stimulus="ERR from the receiver of a connected publication to [::1]",
    expected="one ON_PUBLICATION_ERROR with type 2, the receiver's port, ::1 and the frame's code and text",
)
def u04(bench: Bench) -> None:
    """An IPv6 address in the news of an error."""
    need_ipv6()
    sink = bench.publish(host=LOOPBACK6)
    sink.connect()
    sink.send(sink.frames.error(sink.receiver_id, ErrorCode.IMAGE_REJECTED, "not wanted"))
    errors = bench.client.publication_errors
    bench.expect(lambda: bool(errors), "ON_PUBLICATION_ERROR", within_ms=CONDUCTOR_MS)
    error = errors[0]
    check_equal("address type", int(error.address_type), int(AddressType.IPV6))
    check_equal("port", error.source_port, sink.wire.port)
    check_equal("address", bytes(error.source_address[:16]), ipaddress.ip_address(LOOPBACK6).packed)
    check_equal(
        "session, stream and receiver", (error.session_id, error.stream_id, error.receiver_id), ids_of(sink.frames, sink.receiver_id)
    )
    check_equal("code", error.error_code, int(ErrorCode.IMAGE_REJECTED))
    check_equal("text", error.error_message, "not wanted")
    bench.pause(10 * REACTION_MS)
    check_equal("news of one frame", len(errors), 1)


def ids_of(stream: frames.StreamFrames, receiver_id: int) -> tuple[int, int, int]:
    """Return what identifies a receiver of a stream."""
    return stream.session_id, stream.stream_id, receiver_id


@case(
    "U05",
    requirement="A publication whose control and endpoint are of different families is refused.",
    source="Aeron: UdpChannel.parse; UdpChannelTransport.openDatagramChannel",
    stimulus="endpoint=[::1] with control=[::1], with control=127.0.0.1, and the other way round; then a sender at control=[::1]",
    expected="errors, with whatever code, for mixed publications; mixed subscriptions refused or taken; an image of the last",
)
def u05(bench: Bench) -> None:
    """Mixed families."""
    need_ipv6()
    add_publication(bench, f"endpoint={bench.wire(LOOPBACK6).authority}|control={authority(LOOPBACK6, free_port(LOOPBACK6))}")
    for endpoint, control in ((LOOPBACK6, LOOPBACK), (LOOPBACK, LOOPBACK6)):
        mixed = f"endpoint={authority(endpoint, free_port(endpoint))}|control={authority(control, free_port(control))}"
        expect_refusal(lambda mixed=mixed: add_publication(bench, mixed), f"a publication with {mixed}")  # type: ignore[misc]
        try:
            add_subscription(bench, mixed)
        except CommandRefused:
            # A receiver may bind its endpoint and find out only when it has something to say to the other.
            continue
    wire = bench.wire(LOOPBACK6)
    source = bench.source(bench.subscribe(f"control={wire.authority}", host=LOOPBACK6))
    # The control address is the sender's: official drivers answer either there or to where the SETUP came from.
    source.wire = wire
    source.start()


def carries_groups() -> bool:
    """Say whether a datagram to a link-local group is heard on the loopback interface."""
    index = socket.if_nametoindex(LOOPBACK_INTERFACE)
    group = ("ff02::1:1", free_port(LOOPBACK6), 0, index)
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as ear, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as mouth:
        ear.settimeout(GROUP_MS / 1e3)
        mouth.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        try:
            ear.bind(group)
            join_group(ear, group[0], LOOPBACK6)
            mouth.sendto(b"anybody there", group)
            ear.recv(64)
        except OSError:
            return False
    return True


def add_subscription(bench: Bench, params: str) -> None:
    """Subscribe to a new stream of a channel."""
    bench.client.add_subscription(f"aeron:udp?{params}", bench.new_id())


def add_publication(bench: Bench, params: str) -> None:
    """Add a publication of a new stream to a channel."""
    bench.client.add_publication(f"aeron:udp?{params}|term-length={TERM_LENGTH}", bench.new_id())


CASES: tuple[Case, ...] = (u01, u02, u03, u04, u05)
