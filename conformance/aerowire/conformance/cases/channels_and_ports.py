"""Group W: ports that the driver chooses, and channels that it must not take."""

from __future__ import annotations

import contextlib
import socket
from functools import partial

from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.cases.own import own_driver
from aerowire.conformance.cases.refusals import expect_refusal
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, TERM_LENGTH, Bench, Subscription
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Client
from aerowire.conformance.harness.wire import PORTS, free_port
from aerowire.conformance.model import Finding, MachineLacks, case

# Ports of a range that the driver may choose from, where ranges may begin, and how often to look for one that is free.
RANGE = 3
RANGES_FIRST = range(PORTS.start, PORTS.stop - RANGE, RANGE)
TRIES = 50
RECEIVER_RANGE, SENDER_RANGE = "receiver_wildcard_port_range", "sender_wildcard_port_range"
# A label of a name has 63 bytes at most, so no name server need be asked.
UNKNOWN_HOST = f"{'x' * 64}.invalid"
MTU = 1408

# Official drivers find some faults while they read a channel, and others later.
REFUSALS = (ErrorCode.INVALID_CHANNEL, ErrorCode.GENERIC_ERROR)

# W04, W05: what is wrong, and the channel of which {port} is free.
BAD_CHANNELS = {
    "another scheme": "udp://127.0.0.1:{port}",
    "another medium": "aeron:tcp?endpoint=127.0.0.1:{port}",
    "no parameters": "aeron:udp",
    "no endpoint": "aeron:udp?term-length=65536",
    "a parameter without a value": "aeron:udp?endpoint",
    "an endpoint without a port": "aeron:udp?endpoint=127.0.0.1",
    "a port that is none": "aeron:udp?endpoint=127.0.0.1:65536",
    "dynamic without control": "aeron:udp?control-mode=dynamic|endpoint=127.0.0.1:{port}",
    "control alone": "aeron:udp?control=127.0.0.1:{port}",
}
# What a publication needs and a subscription does not.
OF_PUBLICATIONS = {"dynamic without control", "control alone"}
BAD_PARAMS = (
    "mtu=1400",
    "mtu=65536",
    "mtu=16384|term-length=65536",
    "mtu=x",
    "term-length=100000",
    "term-length=32768",
    "term-length=2147483648",
    "term-id=7",
    "init-term-id=7|term-id=9",
    "init-term-id=9|term-id=7|term-offset=0",
    "init-term-id=7|term-id=7|term-offset=33",
    "max-resend=257",
    "pub-wnd=1024|mtu=1408",
    "session-id=x",
    "linger=x",
)


def number_of(address: str) -> int:
    """Return the port of an address as text."""
    return int(address.rpartition(":")[2])


def expect_bound(bench: Bench, client: Client, subscription_id: int) -> str:
    """Wait until a subscription's endpoint is bound; return the address that its counter names."""
    bound: list[str] = []

    def is_bound() -> bool:
        client.poll()
        bound[:] = client.bound_to(subscription_id)
        return bool(bound)

    bench.expect(is_bound, "a counter of the bound address", within_ms=CONDUCTOR_MS, actual=lambda: "there is none")
    return bound[0]


@case(
    "W01",
    requirement="A subscription to port 0 is bound to a port of the driver's choice, which a counter of type 14 names.",
    source="Aeron: ReceiveChannelEndpoint.openChannel; LocalSocketAddressStatus; Subscription.resolvedEndpoint",
    stimulus="a subscription to 127.0.0.1:0, then a stream to the port that the counter names; a second such subscription",
    expected="an image of the stream; another port for the second",
)
def w01(bench: Bench) -> None:
    """Any port."""
    stream_id = bench.new_id()
    first = bench.client.add_subscription(f"aeron:udp?endpoint={LOOPBACK}:0", stream_id)
    address = expect_bound(bench, bench.client, first)
    check_equal("host of the bound address", address.rpartition(":")[0], LOOPBACK)
    port = number_of(address)
    if port == 0:
        raise Finding("a port", address)
    source = bench.source(Subscription(first, LOOPBACK, port, stream_id))

    def has_met() -> bool:
        if not source.images():
            source.send(source.frames.setup())
            bench.wait_until(lambda: bool(source.images()), 25.0)
        return bool(source.images())

    bench.expect(has_met, "an image of the stream to the port", within_ms=CONDUCTOR_MS, actual=lambda: "no image")
    second = bench.client.add_subscription(f"aeron:udp?endpoint={LOOPBACK}:0|tags={bench.new_id()}", bench.new_id())
    other = number_of(expect_bound(bench, bench.client, second))
    if other == port:
        raise Finding("another port for another endpoint", f"{port} for both")


def free_ranges(bench: Bench, count: int) -> list[int]:
    """Return the firsts of some ranges of neighbouring free ports that have no port in common.

    They are outside of the range from which the system assigns ports, whose ports may be taken at any moment.
    Raises MachineLacks where there are none.
    """
    firsts: list[int] = []
    with contextlib.ExitStack() as found:
        for _ in range(TRIES):
            low = bench.random.choice(RANGES_FIRST)
            with contextlib.ExitStack() as sockets:
                try:
                    for port in range(low, low + RANGE):
                        one = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                        one.bind((LOOPBACK, port))
                except OSError:
                    continue
                found.enter_context(sockets.pop_all())
            firsts.append(low)
            if len(firsts) == count:
                return firsts
    raise MachineLacks(f"{count} ranges of {RANGE} neighbouring ports that are free", f"{len(firsts)} were found")


@case(
    "W02",
    requirement="Ports for port 0 come from the range that the driver was given, upwards; one that is free again is given again, and when "
    "none is free the command is refused.",
    source="Aeron: WildcardPortManager.getManagedPort, freeManagedPort; aeron.receiver.wildcard.port.range",
    stimulus=f"a driver with ranges of {RANGE} ports for receivers and for senders: {RANGE + 1} subscriptions to port 0; one is closed and "
    "another added; two publications with control=127.0.0.1:0",
    expected="the ports of the first range in order, then an error; the port that was closed; the first ports of the other range",
)
def w02(bench: Bench) -> None:
    """Ports of a range."""
    low, senders = free_ranges(bench, 2)
    ranges = {RECEIVER_RANGE: f"{low} {low + RANGE - 1}", SENDER_RANGE: f"{senders} {senders + RANGE - 1}"}
    with own_driver(bench, ranges) as twin:
        client = Client(twin.directory)
        try:
            # A tag keeps endpoints of one channel apart.
            channels = [f"aeron:udp?endpoint={LOOPBACK}:0|tags={tag}" for tag in range(1, RANGE + 3)]
            subscriptions = [client.add_subscription(channel, 1) for channel in channels[:RANGE]]
            ports = [number_of(expect_bound(bench, client, each)) for each in subscriptions]
            check_equal("ports", ports, list(range(low, low + RANGE)))
            expect_refusal(lambda: client.add_subscription(channels[RANGE], 1), "a port where none is free")
            client.remove_subscription(subscriptions[1])
            bench.expect(lambda: not client.bound_to(subscriptions[1]), "the endpoint closed", within_ms=CONDUCTOR_MS)
            again = client.add_subscription(channels[RANGE + 1], 1)
            check_equal("port that is free again", number_of(expect_bound(bench, client, again)), low + 1)
            for tag, port in ((8, senders), (9, senders + 1)):
                channel = f"aeron:udp?control={LOOPBACK}:0|control-mode=dynamic|tags={tag}|term-length={TERM_LENGTH}"
                status_id = client.add_publication(channel, 1).channel_status_id
                is_bound = partial(client.counters.bound_to, status_id)
                bench.expect(lambda: bool(is_bound()), "a bound sender", within_ms=CONDUCTOR_MS)  # noqa: B023
                check_equal("port of a sender", number_of(client.counters.bound_to(status_id)[0]), port)
        finally:
            client.close()


@case(
    "W03",
    requirement="A publication to port 0 is refused.",
    source="Aeron: DriverConductor.validateEndpointForPublication",
    stimulus="a publication to a port of 127.0.0.1; the same to port 0, exclusive and shared",
    expected="the first is added; error 1 or 11 (official drivers differ) for the others",
)
def w03(bench: Bench) -> None:
    """Nowhere to send to."""
    channel = f"aeron:udp?term-length={TERM_LENGTH}|endpoint={LOOPBACK}:"
    bench.client.add_publication(f"{channel}{bench.wire().port}", bench.new_id())
    for is_exclusive in (True, False):
        expect_refusal(
            lambda is_exclusive=is_exclusive: bench.client.add_publication(f"{channel}0", bench.new_id(), is_exclusive=is_exclusive),  # type: ignore[misc]
            "a publication to port 0",
            *REFUSALS,
        )


@case(
    "W04",
    requirement="A channel that is malformed or says too little is refused.",
    source="Aeron: ChannelUri.parse; UdpChannel.parse, validateConfiguration",
    stimulus="publications and subscriptions with " + "; ".join(BAD_CHANNELS),
    expected="error 1 or 11 (official drivers differ) for each; one with an endpoint and a port is added",
)
def w04(bench: Bench) -> None:
    """Channels that are none."""
    port = free_port()
    bench.publish()
    for name, channel in BAD_CHANNELS.items():
        bad = channel.format(port=port)
        expect_refusal(lambda bad=bad: bench.client.add_publication(bad, bench.new_id()), f"a publication with {name}", *REFUSALS)  # type: ignore[misc]
        if name not in OF_PUBLICATIONS:
            expect_refusal(lambda bad=bad: bench.client.add_subscription(bad, bench.new_id()), f"a subscription with {name}", *REFUSALS)  # type: ignore[misc]
    bench.client.add_subscription(f"aeron:udp?endpoint={LOOPBACK}:{port}", bench.new_id())


@case(
    "W05",
    requirement="A publication whose parameters cannot be, or contradict each other, is refused.",
    source="Aeron: PublicationParams; Configuration.validateMtuLength, checkTermLength; LogBufferDescriptor",
    stimulus="publications with " + ", ".join(BAD_PARAMS),
    expected="one without them is added; error 1 or 11 (official drivers differ) for each",
)
def w05(bench: Bench) -> None:
    """Parameters that cannot be."""
    wire = bench.wire()
    bench.client.add_publication(f"aeron:udp?endpoint={wire.authority}|term-length={TERM_LENGTH}|mtu={MTU}", bench.new_id())
    for params in BAD_PARAMS:
        channel = f"aeron:udp?endpoint={wire.authority}|{params}"
        add = partial(bench.client.add_publication, channel, bench.new_id())
        expect_refusal(add, f"a publication with {params}", *REFUSALS)


@case(
    "W06",
    requirement="A channel to a host that nobody knows is refused.",
    source="Aeron: UdpChannel.parse; NameResolver; UnknownHostException; ClientCommandAdapter",
    stimulus="a publication and a subscription to localhost; then ones to a name whose first label has 64 bytes",
    expected="the first two are added; error 9 (UNKNOWN_HOST), or 1 as Java has it, for the others",
)
def w06(bench: Bench) -> None:
    """A host that nobody knows."""
    port = free_port()
    for host, codes in (("localhost", ()), (UNKNOWN_HOST, (ErrorCode.UNKNOWN_HOST, ErrorCode.INVALID_CHANNEL))):
        channel = f"aeron:udp?endpoint={host}:{port}"
        for add in (
            lambda channel=channel: bench.client.add_publication(f"{channel}|term-length={TERM_LENGTH}", bench.new_id()),
            lambda channel=channel: bench.client.add_subscription(channel, bench.new_id()),
        ):
            if codes:
                expect_refusal(add, "a host that nobody knows", *codes)
            else:
                add()


@case(
    "W15",
    requirement="A second client of a publication must want its parameters; with others it is refused.",
    source="Aeron: PublicationParams.confirmMatch, validateMtuForSndbuf",
    stimulus="a shared publication; the same with another mtu, term length, session id and initial term; the same as it was",
    expected="an error for each of the four; the last has the session of the first",
)
def w15(bench: Bench) -> None:
    """Publications that contradict each other."""
    wire, stream_id, session_id = bench.wire(), bench.new_id(), bench.new_id()
    channel = f"aeron:udp?endpoint={wire.authority}"
    wanted = {"term-length": TERM_LENGTH, "mtu": MTU, "session-id": session_id, "init-term-id": 7, "term-id": 7, "term-offset": 0}

    def add(**others: int) -> int:
        params = {**wanted, **{name.replace("_", "-"): value for name, value in others.items()}}
        text = "|".join(f"{name}={value}" for name, value in params.items())
        return bench.client.add_publication(f"{channel}|{text}", stream_id, is_exclusive=False).session_id

    check_equal("session of the first", add(), session_id)
    differing = ({"mtu": 2 * MTU}, {"term_length": 2 * TERM_LENGTH}, {"session_id": session_id ^ 1}, {"init_term_id": 8, "term_id": 8})
    for others in differing:
        expect_refusal(lambda others=others: add(**others), f"a second publication with another {next(iter(others))}")  # type: ignore[misc]
    check_equal("session of the same", add(), session_id)
