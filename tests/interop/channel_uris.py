"""Channels, good and bad, that both drivers are asked for: what one takes the other takes, what one refuses the other refuses alike.

Nothing here knows what is right; the official driver decides.
"""

from __future__ import annotations

from collections.abc import Iterator

PUBLICATION = "publication"
SUBSCRIPTION = "subscription"

# A publication's socket is bound to a port of the system's choice, so that any port will do to send to.
SEND = "aeron:udp?endpoint=127.0.0.1:PORT"
RECEIVE = "aeron:udp?endpoint=127.0.0.1:0"
IPC = "aeron:ipc?alias=x"

# Texts that are tried on either kind of stream as they stand.
_WHOLE = (
    "",
    "aeron",
    "aeron:",
    "aeron:udp",
    "aeron:udp?",
    "aeron:ipc",
    "aeron:ipc?",
    "aeron:tcp?endpoint=127.0.0.1:PORT",
    "aeron:UDP?endpoint=127.0.0.1:PORT",
    "AERON:udp?endpoint=127.0.0.1:PORT",
    "udp://127.0.0.1:PORT",
    "aeron-spy:aeron:tcp",
    "aeron-spy:udp?endpoint=127.0.0.1:PORT",
    "aeron:udp:endpoint=127.0.0.1:PORT",
    "aeron:udp|endpoint=127.0.0.1:PORT",
    "aeron:udp=endpoint",
    "aeron:udp?endpoint",
    "aeron:udp?=127.0.0.1:PORT",
    "aeron:udp?endpoint=127.0.0.1:PORT|",
    "aeron:udp?|endpoint=127.0.0.1:PORT",
    "aeron:udp?endpoint=127.0.0.1:PORT||mtu=1408",
    "aeron:udp?endpoint=127.0.0.1:PORT|mtu",
    "aeron:udp?endpoint=127.0.0.1:PORT|unknown=1",
    "aeron:udp?endpoint=127.0.0.1:PORT|unknown=",
    "aeron:udp?endpoint=127.0.0.1:PORT|alias=a=b?c",
    "aeron:udp?endpoint=127.0.0.1:PORT|alias=",
    "aeron:udp?alias=only",
    "aeron:udp?interface=127.0.0.1",
    "aeron:udp?ENDPOINT=127.0.0.1:PORT",
    "aeron:udp?endpoint=1.2.3.4:5|endpoint=127.0.0.1:PORT",
    "aeron:udp?endpoint=127.0.0.1:PORT|alias=" + "x" * 3_000,
    "aeron:udp?endpoint=127.0.0.1:PORT|alias=" + "x" * 4_200,
    "aeron:ipc?endpoint=127.0.0.1:PORT",
    "aeron:ipc?term-length=64k",
    "aeron:ipc?term-length=64k|mtu=8k",
    "aeron:ipc?term-length=64k|mtu=16k",
    "aeron:ipc?control-mode=manual",
    "aeron:ipc?fc=max",
    "aeron:ipc?tags=1234",
    "aeron:ipc?interface=nowhere",
    "aeron:ipc?unknown=1",
    "aeron-spy:aeron:ipc",
    "aeron-spy:aeron:udp",
    "aeron-spy:aeron:udp?endpoint=127.0.0.1:PORT",
    "aeron-spy:aeron:udp?endpoint=127.0.0.1:0",
    "aeron-spy:aeron:udp?endpoint=127.0.0.1:PORT|session-id=x",
    "aeron-spy:aeron:udp?endpoint=127.0.0.1:PORT|tether=false",
    "aeron-spy:aeron:udp?endpoint=127.0.0.1:PORT|so-rcvbuf=x",
    "aeron-spy:aeron:udp?control-mode=manual",
    "aeron-spy:aeron:udp?control=127.0.0.1:PORT|control-mode=dynamic",
    "aeron-spy:aeron:udp?tags=97001",
    "aeron-spy:aeron:udp?endpoint=224.20.30.39:PORT|interface=127.0.0.1",
)

# Addresses; the first is for a publication, the second for a subscription.
_ADDRESSES = (
    ("endpoint=127.0.0.1", "endpoint=127.0.0.1"),
    ("endpoint=127.0.0.1:", "endpoint=127.0.0.1:"),
    ("endpoint=:PORT", "endpoint=:0"),
    ("endpoint=", "endpoint="),
    ("endpoint=127.0.0.1:0", "endpoint=127.0.0.1:00"),
    ("endpoint=127.0.0.1:65535", "endpoint=127.0.0.1:PORT"),
    ("endpoint=127.0.0.1:65536", "endpoint=127.0.0.1:65536"),
    ("endpoint=127.0.0.1:99999999999", "endpoint=127.0.0.1:99999999999"),
    ("endpoint=127.0.0.1:-1", "endpoint=127.0.0.1:-1"),
    ("endpoint=127.0.0.1:4x", "endpoint=127.0.0.1:4x"),
    ("endpoint=127.0.0.1:PORT ", "endpoint=127.0.0.1:0 "),
    ("endpoint=localhost:PORT", "endpoint=localhost:0"),
    ("endpoint=no-such-host.invalid:PORT", "endpoint=no-such-host.invalid:0"),
    ("endpoint=256.1.1.1:PORT", "endpoint=256.1.1.1:0"),
    ("endpoint=0.0.0.0:PORT", "endpoint=0.0.0.0:0"),
    ("endpoint=192.0.2.1:PORT", "endpoint=192.0.2.1:0"),
    ("endpoint=[::1]:PORT", "endpoint=[::1]:0"),
    ("endpoint=[::1]", "endpoint=[::1]"),
    ("endpoint=[::1]:", "endpoint=[::1]:"),
    ("endpoint=::1:PORT", "endpoint=::1:0"),
    ("endpoint=[::1:PORT", "endpoint=[::1:0"),
    ("endpoint=[::]:PORT", "endpoint=[::]:0"),
    ("endpoint=[::g]:PORT", "endpoint=[::g]:0"),
    ("endpoint=[1:2]:PORT", "endpoint=[1:2]:0"),
    ("endpoint=[::1%lo]:PORT", "endpoint=[::1%lo]:0"),
    ("endpoint=[::1%]:PORT", "endpoint=[::1%]:0"),
    ("endpoint=[::1%a b]:PORT", "endpoint=[::1%a b]:0"),
    ("endpoint=[::ffff:127.0.0.1]:PORT", "endpoint=[::ffff:127.0.0.1]:0"),
    ("endpoint=127.0.0.1:PORT|interface=127.0.0.1", "endpoint=127.0.0.1:0|interface=127.0.0.1"),
    ("endpoint=127.0.0.1:PORT|interface=127.0.0.0/8", "endpoint=127.0.0.1:0|interface=127.0.0.0/8"),
    ("endpoint=127.0.0.1:PORT|interface=127.0.0.1:0/8", "endpoint=127.0.0.1:0|interface=127.0.0.1:0/8"),
    ("endpoint=127.0.0.1:PORT|interface=localhost", "endpoint=127.0.0.1:0|interface=localhost"),
    ("endpoint=127.0.0.1:PORT|interface=localhost/24", "endpoint=127.0.0.1:0|interface=localhost/24"),
    ("endpoint=127.0.0.1:PORT|interface=127.1", "endpoint=127.0.0.1:0|interface=127.1"),
    ("endpoint=127.0.0.1:PORT|interface=LOCALHOST:0/8", "endpoint=127.0.0.1:0|interface=LOCALHOST:0/8"),
    ("endpoint=127.0.0.1:PORT|interface=no-such-host.invalid", "endpoint=127.0.0.1:0|interface=no-such-host.invalid"),
    ("endpoint=[::1]:PORT|interface=[::1%lo]", "endpoint=[::1]:0|interface=[::1%lo]"),
    ("endpoint=127.0.0.1:PORT|interface={lo}", "endpoint=127.0.0.1:0|interface={lo}"),
    ("endpoint=127.0.0.1:PORT|interface={lo}:0", "endpoint=127.0.0.1:0|interface={lo}:0"),
    ("endpoint=127.0.0.1:PORT|interface={nope}", "endpoint=127.0.0.1:0|interface={nope}"),
    ("endpoint=127.0.0.1:PORT|interface={}", "endpoint=127.0.0.1:0|interface={}"),
    ("endpoint=127.0.0.1:PORT|interface={lo", "endpoint=127.0.0.1:0|interface={lo"),
    ("endpoint=127.0.0.1:PORT|interface=", "endpoint=127.0.0.1:0|interface="),
    ("endpoint=127.0.0.1:PORT|interface=203.0.113.9", "endpoint=127.0.0.1:0|interface=203.0.113.9"),
    ("endpoint=127.0.0.1:PORT|interface=203.0.113.0/24", "endpoint=127.0.0.1:0|interface=203.0.113.0/24"),
    ("endpoint=127.0.0.1:PORT|interface=127.0.0.1/", "endpoint=127.0.0.1:0|interface=127.0.0.1/"),
    ("endpoint=127.0.0.1:PORT|interface=127.0.0.1/x", "endpoint=127.0.0.1:0|interface=127.0.0.1/x"),
    ("endpoint=127.0.0.1:PORT|interface=127.0.0.1:", "endpoint=127.0.0.1:0|interface=127.0.0.1:"),
    ("endpoint=127.0.0.1:PORT|interface=0.0.0.0", "endpoint=127.0.0.1:0|interface=0.0.0.0"),
    ("endpoint=[::1]:PORT|interface=[::1]", "endpoint=[::1]:0|interface=[::1]"),
    ("endpoint=[::1]:PORT|interface=[::1]/128", "endpoint=[::1]:0|interface=[::1]/128"),
    ("endpoint=127.0.0.1:PORT|interface=[::1]", "endpoint=127.0.0.1:0|interface=[::1]"),
    ("control=127.0.0.1:0", "control=127.0.0.1:0"),
    ("control=127.0.0.1:0|control-mode=dynamic", "control=127.0.0.1:PORT|endpoint=127.0.0.1:0"),
    ("control-mode=dynamic", "control-mode=dynamic"),
    ("control-mode=dynamic|endpoint=127.0.0.1:PORT", "control-mode=dynamic|endpoint=127.0.0.1:0"),
    ("control-mode=manual", "control-mode=manual"),
    ("control-mode=manual|control=127.0.0.1:0", "control-mode=manual|control=127.0.0.1:PORT"),
    ("control-mode=response", "control-mode=response"),
    ("control-mode=response|control=127.0.0.1:0", "control-mode=response|control=127.0.0.1:PORT"),
    ("control-mode=bogus|endpoint=127.0.0.1:PORT", "control-mode=bogus|endpoint=127.0.0.1:0"),
    ("control-mode=|endpoint=127.0.0.1:PORT", "control-mode=|endpoint=127.0.0.1:0"),
    ("control-mode=bogus", "control-mode=bogus"),
    ("control-mode=MANUAL", "control-mode=MANUAL"),
    ("control=127.0.0.1", "control=127.0.0.1"),
    ("control=no-such-host.invalid:1|control-mode=dynamic", "control=no-such-host.invalid:1|endpoint=127.0.0.1:0"),
    ("endpoint=[::1]:PORT|control=127.0.0.1:0", "endpoint=[::1]:0|control=127.0.0.1:PORT"),
    ("endpoint=127.0.0.1:PORT|control=[::1]:0", "endpoint=127.0.0.1:0|control=[::1]:PORT"),
    ("endpoint=127.0.0.1:PORT|control=127.0.0.1:0", "endpoint=127.0.0.1:0|control=127.0.0.1:0"),
    ("tags=98001", "tags=98001"),
    ("endpoint=224.20.30.39:PORT|interface=lo", "endpoint=224.20.30.39:PORT|interface=lo"),
    ("endpoint=224.20.30.39:PORT|interface=127.0.0.1", "endpoint=224.20.30.39:PORT|interface=127.0.0.1"),
    ("endpoint=224.20.30.40:PORT|interface=127.0.0.1", "endpoint=224.20.30.40:PORT|interface=127.0.0.1"),
    ("endpoint=224.20.30.39:0|interface=127.0.0.1", "endpoint=224.20.30.39:0|interface=127.0.0.1"),
    ("endpoint=[ff02::2]:PORT|interface=[::1]", "endpoint=[ff02::2]:PORT|interface=[::1]"),
    ("endpoint=224.20.30.39:PORT|interface=127.0.0.1|ttl=4", "endpoint=224.20.30.39:PORT|interface=127.0.0.1|ttl=x"),
)

# Values of one parameter, tried on a UDP channel of each kind and, where `+ipc` stands behind the name, on an IPC channel too.
_VALUES: dict[str, tuple[str, ...]] = {
    "mtu+ipc": ("1408", "1k", "2K", "8k", "32", "64", "0", "-32", "1400", "65504", "65536", "x", "", "1m", "1408 ", "+1408", "0x580", "4g"),
    "term-length+ipc": ("64k", "65536", "128k", "1g", "2g", "32k", "100k", "65537", "0", "-65536", "x", "", "64kb", "9999999999999999999"),
    "session-id+ipc": ("7", "-7", "2147483647", "2147483648", "x", "", "tag:1", "tag:x", "tag:", "tag:-1", "7.5", "+9"),
    "stream-id+ipc": ("STREAM", "1", "x", "", "2147483648"),
    "linger": ("0", "5s", "100ms", "-1", "x", "", "1h", "5S", "1 s", "9223372036854775807", "9223372036854775808", "1us", "7ns"),
    "ttl": ("0", "4", "255", "256", "-1", "x", ""),
    "reliable": ("true", "false", "TRUE", "yes", ""),
    "tags+ipc": (
        "-1",
        "98002",
        "98003,98004",
        "98005,-1",
        "-1,98006",
        ",98007",
        "98008,",
        ",",
        "x",
        "98009,x",
        "",
        "1,2,3",
        "9223372036854775808",
    ),
    "sparse": ("true", "false", "x"),
    "eos+ipc": ("true", "false", "x"),
    "tether+ipc": ("true", "false", "x"),
    "group": ("true", "false", "infer", "TRUE", "x", ""),
    "rejoin": ("true", "false", "x"),
    "cc": ("static", "cubic", "x", ""),
    "fc": ("max", "min", "x", "", "tagged,g:1", "min,g:/2"),
    "group-min": ("1",),
    "gtag": ("1", "-1", "x", "", "9223372036854775807", "9223372036854775808"),
    "ssc": ("false", "true", "x"),
    "so-sndbuf": ("0", "64k", "x", "", "-1", "3g", "1k"),
    "so-rcvbuf": ("0", "256k", "x", "", "-1", "3g", "64k", "1k"),
    "rcv-wnd": ("0", "64k", "128k", "256k", "x", "", "-1", "3g", "1k"),
    "pub-wnd+ipc": ("1408", "64k", "8m", "9m", "1k", "0", "-1", "x", "", "1g"),
    "media-rcv-ts-offset": ("reserved", "0", "x"),
    "channel-rcv-ts-offset": ("reserved", "0", "8", "-5", "-1", "2147483648", "x", ""),
    "channel-snd-ts-offset": ("reserved", "0", "8", "-5", "-1", "2147483648", "x", ""),
    "response-endpoint": ("x", "127.0.0.1:0"),
    "response-correlation-id": ("-1", "-2", "x", "", "12345678"),
    "nak-delay": ("0", "1ms", "-1", "x", "", "5m"),
    "untethered-window-limit-timeout+ipc": ("1s", "x", "", "-1", "0"),
    "untethered-linger-timeout+ipc": ("1s", "x", "-1", "0"),
    "untethered-resting-timeout+ipc": ("1s", "x", "-1", "0"),
    "max-resend": ("1", "16", "256", "257", "0", "-1", "x", ""),
    "alias": ("name", "a b"),
}

# Start positions, and parameters that depend on each other.
_SETS = (
    "init-term-id=5|term-id=5|term-offset=0",
    "init-term-id=5|term-id=6|term-offset=64",
    "init-term-id=2147483647|term-id=-2147483648|term-offset=0",
    "init-term-id=5|term-id=4|term-offset=0",
    "init-term-id=-2147483648|term-id=0|term-offset=0",
    "init-term-id=5",
    "term-id=5",
    "term-offset=0",
    "init-term-id=5|term-id=5",
    "init-term-id=5|term-offset=0",
    "init-term-id=x|term-id=5|term-offset=0",
    "init-term-id=5|term-id=x|term-offset=0",
    "init-term-id=5|term-id=5|term-offset=x",
    "init-term-id=5|term-id=5|term-offset=",
    "init-term-id=5|term-id=5|term-offset=33",
    "init-term-id=5|term-id=5|term-offset=-32",
    "init-term-id=5|term-id=5|term-offset=65536|term-length=64k",
    "init-term-id=5|term-id=5|term-offset=65568|term-length=64k",
    "init-term-id=5|term-id=5|term-offset=1073741824|term-length=1g",
    "init-term-id=5|term-id=5|term-offset=1073741856|term-length=1g",
    "term-length=64k|mtu=8192",
    "term-length=64k|mtu=8224",
    "term-length=128k|mtu=16k",
    "term-length=64k|pub-wnd=32k",
    "term-length=64k|pub-wnd=32800",
    "mtu=8k|pub-wnd=4k",
    "mtu=8k|so-sndbuf=4k",
    "mtu=8k|so-sndbuf=64k",
    "rcv-wnd=128k|so-rcvbuf=64k",
    "rcv-wnd=64k|so-rcvbuf=64k",
    "session-id=7|session-id=8",
)


# What a channel of several receivers may ask of its flow control, and of where it goes.
_GROUPS = (
    *(
        f"control=127.0.0.1:0|control-mode=dynamic|fc={value}"
        for value in (
            "max",
            "min",
            "tagged",
            "MAX",
            "x",
            "",
            "min,t:1s",
            "min,t:x",
            "min,t:",
            "min,g:/2",
            "min,g:/x",
            "min,g:/-1",
            "min,g:",
            "min,g:7",
            "tagged,g:101",
            "tagged,g:101/2",
            "tagged,g:x",
            "tagged,g:101/2,t:5s",
            "max,rrwm:2",
            "max,rrwm:0",
            "max,rrwm:x",
            "min,rrwm:-1",
            "min,z:1",
            "min,",
            ",min",
            "max,t:1s",
            "max,g:/2",
        )
    ),
    "control=127.0.0.1:0|control-mode=dynamic|endpoint=127.0.0.1:PORT",
    "control-mode=manual|endpoint=127.0.0.1:PORT",
    "control-mode=manual|fc=min",
    "control-mode=manual|fc=tagged,g:1",
    "endpoint=224.20.30.39:PORT|interface=127.0.0.1|fc=min",
    "endpoint=224.20.30.39:PORT|interface=127.0.0.1|fc=x",
    "endpoint=224.20.30.39:PORT|interface=127.0.0.1|control=127.0.0.1:0",
    "endpoint=224.20.30.39:PORT|interface=127.0.0.1|control-mode=dynamic",
    "endpoint=224.20.30.39:PORT|interface=127.0.0.1|control-mode=manual",
    "endpoint=224.20.30.39:PORT|interface=127.0.0.1|ttl=256",
    "endpoint=224.20.30.39:PORT|interface=127.0.0.1|ttl=-1",
    "endpoint=224.20.30.39:PORT|interface=203.0.113.7",
    "endpoint=224.20.30.39:PORT|interface=[::1]",
    "endpoint=[ff02::3]:PORT|interface=[::1]",
    "endpoint=[ff02::3]:PORT|interface=127.0.0.1",
    "endpoint=239.255.255.255:PORT|interface=localhost",
)


# What a channel has, and what a second one on the same stream asks for while the first is there.
_BESIDE: dict[str, tuple[tuple[str, str], ...]] = {
    PUBLICATION: (
        ("", ""),
        ("mtu=1408", "mtu=1408"),
        ("", "mtu=1408"),
        ("", "mtu=8k"),
        ("mtu=8k", ""),
        ("mtu=8k", "mtu=4k"),
        ("term-length=64k", ""),
        ("term-length=64k", "term-length=128k"),
        ("", "term-length=64k"),
        ("session-id=1PORT", ""),
        ("session-id=1PORT", "session-id=1PORT"),
        ("session-id=1PORT", "session-id=2PORT"),
        ("", "session-id=2PORT"),
        ("init-term-id=5|term-id=5|term-offset=0", "init-term-id=5|term-id=5|term-offset=0"),
        ("init-term-id=5|term-id=5|term-offset=0", "init-term-id=4|term-id=5|term-offset=0"),
        ("init-term-id=5|term-id=5|term-offset=0", "init-term-id=5|term-id=6|term-offset=0"),
        ("init-term-id=5|term-id=5|term-offset=0", "init-term-id=5|term-id=5|term-offset=64"),
        ("init-term-id=5|term-id=5|term-offset=0", ""),
        ("ssc=true", "ssc=false"),
        ("ssc=true", ""),
        ("linger=1s", "linger=2s"),
        ("sparse=false", "sparse=true"),
        ("eos=false", "eos=true"),
        ("max-resend=4", "max-resend=8"),
        ("pub-wnd=64k", "pub-wnd=32k"),
        ("so-sndbuf=64k", "so-sndbuf=64k"),
        ("so-sndbuf=64k", "so-sndbuf=128k"),
        ("so-sndbuf=64k", ""),
        ("", "so-sndbuf=64k"),
        ("so-rcvbuf=128k", "so-rcvbuf=64k"),
        ("", "so-rcvbuf=64k"),
        ("so-sndbuf=64k", "mtu=65504"),
        ("tags=1PORT", "tags=2PORT"),
        ("tags=1PORT", ""),
        ("tags=1PORT,2PORT", "tags=3PORT,2PORT"),
        ("channel-snd-ts-offset=reserved", ""),
        ("channel-snd-ts-offset=reserved", "channel-snd-ts-offset=0"),
        ("alias=one", "alias=two"),
    ),
    SUBSCRIPTION: (
        ("", ""),
        ("reliable=true", "reliable=false"),
        ("reliable=false", ""),
        ("", "reliable=true"),
        ("rejoin=false", ""),
        ("rejoin=false", "rejoin=false"),
        ("rejoin=false", "rejoin=true"),
        ("session-id=1PORT", ""),
        ("session-id=1PORT", "session-id=2PORT|reliable=false"),
        ("session-id=1PORT", "session-id=1PORT|reliable=false"),
        ("tether=false", "tether=true"),
        ("group=true", "group=false"),
        ("rcv-wnd=64k", "rcv-wnd=32k"),
        ("rcv-wnd=64k", ""),
        ("", "rcv-wnd=64k"),
        ("so-rcvbuf=128k", "so-rcvbuf=256k"),
        ("so-rcvbuf=256k", ""),
        ("", "so-rcvbuf=256k"),
        ("so-sndbuf=64k", "so-sndbuf=128k"),
        ("", "so-sndbuf=64k"),
        ("so-rcvbuf=128k", "rcv-wnd=256k"),
        ("channel-rcv-ts-offset=reserved", ""),
        ("", "channel-rcv-ts-offset=reserved"),
        ("channel-rcv-ts-offset=0", "channel-rcv-ts-offset=8"),
        ("nak-delay=1ms", "nak-delay=2ms"),
        ("cc=static", "cc=cubic"),
        ("gtag=1", "gtag=2"),
        ("ttl=1", "ttl=2"),
        ("tags=1PORT", "tags=2PORT"),
        ("tags=1PORT", ""),
        ("untethered-resting-timeout=1s", "untethered-resting-timeout=2s"),
    ),
}


def pairs() -> Iterator[tuple[str, str, str]]:
    """Yield (kind, channel, channel that is asked for beside it) for UDP, and for publications for IPC too.

    PORT stands for a number of the case's own; a session id or a tag that has just been given back may still be in use.
    """
    for kind, both in _BESIDE.items():
        for first, second in both:
            yield kind, _joined("aeron:udp?endpoint=127.0.0.1:PORT", first), _joined("aeron:udp?endpoint=127.0.0.1:PORT", second)
            if kind == PUBLICATION:
                yield kind, _joined(IPC, first), _joined(IPC, second)


def _joined(channel: str, parameters: str) -> str:
    return f"{channel}|{parameters}" if parameters else channel


def cases() -> Iterator[tuple[str, str]]:
    """Yield (publication or subscription, channel); STREAM stands for the stream that the command names, PORT for a free port."""
    for text in _WHOLE:
        yield PUBLICATION, text
        yield SUBSCRIPTION, text
    for sending, receiving in _ADDRESSES:
        yield PUBLICATION, f"aeron:udp?{sending}"
        yield SUBSCRIPTION, f"aeron:udp?{receiving}"
    for text in _GROUPS:
        yield PUBLICATION, f"aeron:udp?{text}"
        yield SUBSCRIPTION, f"aeron:udp?{text}"
    for name, values in _VALUES.items():
        key, _, also = name.partition("+")
        for value in values:
            yield PUBLICATION, f"{SEND}|{key}={value}"
            yield SUBSCRIPTION, f"{RECEIVE}|{key}={value}"
            if also:
                yield PUBLICATION, f"{IPC}|{key}={value}"
                yield SUBSCRIPTION, f"{IPC}|{key}={value}"
    for text in _SETS:
        yield PUBLICATION, f"{SEND}|{text}"
        yield SUBSCRIPTION, f"{RECEIVE}|{text}"
