"""The driver's event log: which events are asked for, what is written, what a reader of it finds, and what it misses."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from aerowire.agents.event_log import EventLog
from aerowire.base.errors import AerowireError, ConfigurationError, UnknownHostError
from aerowire.client import Aeron
from aerowire.codecs.flyweights.commands import AddPublicationEncoder, CommandType
from aerowire.codecs.flyweights.events import EVENT_TEXT_LENGTH_MAX, DriverEventCode
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.driver import Context, MediaDriver
from aerowire.driver.channels.socket_address import parse_address
from aerowire.driver.event_log.conductor_events import ConductorEvents, LoggedTransmitter
from aerowire.driver.event_log.event_selection import DRIVER_EVENTS, FRAMES
from aerowire.driver.names.timed_resolver import TimedResolver, again
from aerowire.ipc.counters import CountersManager
from aerowire.system.clock import SystemClock
from aerowire.tools.driver.event_reader import EventReader
from tests.support.processes import free_port

CAPACITY = 65536
ALL = DRIVER_EVENTS.all
COMMANDS = {code for code in DriverEventCode if code.name.startswith("CMD_IN_")}
RESPONSES = {code for code in DriverEventCode if code.name.startswith("CMD_OUT_")}


class Written:
    """An event log in a directory, and a reader of it."""

    def __init__(self, directory: Path, codes: frozenset[DriverEventCode] = ALL) -> None:
        from aerowire.memory.region import Region

        region = Region.create_file(directory / "event-log.dat", EventLog.file_length(CAPACITY))
        self.log = EventLog(region, SystemClock(), codes)
        self.conductor_events = ConductorEvents(self.log)
        self.reader = EventReader(str(directory), from_start=True)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


# ---- the option


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", frozenset()),
        ("none", frozenset()),
        ("all", ALL),
        ("admin", ALL - FRAMES),
        ("FRAME_IN,FRAME_OUT", FRAMES),
        ("1, 2", FRAMES),
        ("SEND_NAK_MESSAGE", frozenset({DriverEventCode.NAK_SENT})),
        ("GENERIC_MESSAGE", frozenset({DriverEventCode.TEXT_DATA})),
        ("ADD_DYNAMIC_DISSECTOR,DYNAMIC_DISSECTOR_EVENT", frozenset()),
        ("0xffff", ALL),
        ("0x1FFFF", ALL),
        ("0x1", COMMANDS | {DriverEventCode.PUBLICATION_REVOKE}),
        ("0x2", RESPONSES),
        ("0x4", frozenset({DriverEventCode.FRAME_IN})),
        ("0x8", frozenset({DriverEventCode.FRAME_OUT})),
        ("0x10", frozenset({DriverEventCode.FRAME_OUT})),
        ("0x86", RESPONSES | {DriverEventCode.FRAME_IN, DriverEventCode.UNTETHERED_SUBSCRIPTION_STATE_CHANGE}),
        ("0x160", frozenset()),
        ("0xfffe,SEND_NAK_MESSAGE", RESPONSES | FRAMES | {DriverEventCode.UNTETHERED_SUBSCRIPTION_STATE_CHANGE, DriverEventCode.NAK_SENT}),
        ("admin,FRAME_IN", ALL - {DriverEventCode.FRAME_OUT}),
    ],
)
def test_reads_names_numbers_and_sets(text: str, codes: frozenset[DriverEventCode]) -> None:
    assert DRIVER_EVENTS.parse(text, "here") == codes


def test_takes_out_what_is_disabled() -> None:
    assert DRIVER_EVENTS.selected({"event_log": "all", "event_log_disable": "FRAME_IN,FRAME_OUT"}) == ALL - FRAMES


def test_refuses_what_no_event_is_called_by_with_a_suggestion() -> None:
    with pytest.raises(ConfigurationError, match=r"aeron.event.log;.*got 'FRAME_INN' \(hint: did you mean FRAME_IN\?\)"):
        Context(event_log="FRAME_INN")
    with pytest.raises(ConfigurationError, match=r"aeron.event.log.disable;.*got '999'"):
        Context(event_log="all", event_log_disable="999")


@pytest.mark.parametrize(("length", "match"), [(65535, "out of range|at least"), (100_000, "not a power of two")])
def test_refuses_a_length_that_no_log_has(length: int, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        Context(event_buffer_length=length)


@pytest.mark.parametrize("text", ["all", *(code.name for code in DRIVER_EVENTS.never_noted)])
def test_no_event_that_somebody_names_is_an_error(text: str) -> None:
    assert not Context(environ={}, event_log=text).options_without_effect()


# ---- the log


def test_a_state_is_read_as_it_was_noted(written: Written) -> None:
    written.conductor_events.state(DriverEventCode.SEND_CHANNEL_CREATION, channel="aeron:udp?endpoint=localhost:1", number=7, nothing=None)
    (event,) = written.reader.poll()
    assert event.code is DriverEventCode.SEND_CHANNEL_CREATION
    assert event.facts == {"channel": "aeron:udp?endpoint=localhost:1", "number": 7, "nothing": None}
    assert event.sequence == 0
    assert event.timestamp_ns > 0
    assert event.to_dict()["event"] == "SEND_CHANNEL_CREATION"


def test_a_text_that_is_too_long_is_cut(written: Written) -> None:
    written.conductor_events.state(DriverEventCode.START, long="\u1234" * EVENT_TEXT_LENGTH_MAX, short="x")
    (event,) = written.reader.poll()
    assert event.facts["short"] == "x"
    assert set(event.facts["long"]) == {"\u1234"}


def test_a_command_is_decoded_and_a_long_one_kept_in_part(written: Written) -> None:
    for channel in ("aeron:ipc", "aeron:ipc?alias=" + "x" * EVENT_TEXT_LENGTH_MAX):
        body = AddPublicationEncoder.encode(client_id=1, correlation_id=2, stream_id=3, channel=channel)
        written.conductor_events.command_in(CommandType.ADD_PUBLICATION, body)
    short, long = written.reader.poll()
    assert short.facts["command"]["channel"] == "aeron:ipc"
    assert short.facts["command"]["stream_id"] == 3
    assert long.facts["length"] > EVENT_TEXT_LENGTH_MAX
    assert len(long.facts["bytes"]) == 2 * EVENT_TEXT_LENGTH_MAX


def test_notes_only_what_was_asked_for(tmp_path: Path) -> None:
    written = Written(tmp_path, frozenset({DriverEventCode.CMD_OUT_ON_OPERATION_SUCCESS}))
    sent: list[tuple[int, bytes]] = []

    class Inner:
        def transmit(self, message_type: int, body: bytes, /) -> None:
            sent.append((message_type, body))

    transmitter = LoggedTransmitter(Inner(), written.conductor_events)
    transmitter.transmit(CommandType.ON_OPERATION_SUCCESS, bytes(8))
    transmitter.transmit(CommandType.ON_SUBSCRIPTION_READY, bytes(12))
    written.conductor_events.state(DriverEventCode.START, pid=1)
    assert [event.code for event in written.reader.poll()] == [DriverEventCode.CMD_OUT_ON_OPERATION_SUCCESS]
    assert len(sent) == 2


def test_without_a_log_nothing_is_noted() -> None:
    conductor_events = ConductorEvents()
    conductor_events.state(DriverEventCode.START, pid=1)
    conductor_events.command_in(CommandType.ADD_PUBLICATION, b"")
    assert not conductor_events.has(DriverEventCode.START)


def test_a_reader_that_is_overrun_knows_how_many_it_has_missed(written: Written) -> None:
    for number in range(10):
        written.conductor_events.state(DriverEventCode.START, number=number)
    seen = [event.facts["number"] for event in written.reader.poll()]
    for number in range(10, 3000):
        written.conductor_events.state(DriverEventCode.START, number=number)
    events = written.reader.poll()
    assert seen == list(range(10))
    assert events[0].missed == events[0].facts["number"] - 10 > 0
    assert [event.facts["number"] for event in events] == list(range(events[0].sequence, 3000))
    assert all(event.missed == 0 for event in events[1:])


def test_a_reader_that_comes_late_begins_at_the_end(written: Written, tmp_path: Path) -> None:
    written.conductor_events.state(DriverEventCode.START, number=0)
    written.conductor_events.state(DriverEventCode.START, number=1)
    late = EventReader(str(tmp_path), from_start=False)
    assert late.poll() == []
    written.conductor_events.state(DriverEventCode.START, number=2)
    (event,) = late.poll()
    assert (event.facts["number"], event.missed) == (2, 0)
    for number in range(3, 3000):
        written.conductor_events.state(DriverEventCode.START, number=number)
    missed = late.poll()[0]
    assert missed.missed == missed.facts["number"] - 3 > 0
    late.close()


def test_a_reader_of_an_empty_log_misses_nothing(written: Written, tmp_path: Path) -> None:
    early = EventReader(str(tmp_path), from_start=False)
    written.conductor_events.state(DriverEventCode.START, number=0)
    assert [event.facts["number"] for event in early.poll()] == [0]
    early.close()


def test_writers_of_several_threads_leave_no_gap(written: Written) -> None:
    def write(who: int) -> None:
        for number in range(100):
            written.conductor_events.state(DriverEventCode.START, who=who, number=number)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = written.reader.poll()
    assert [event.sequence for event in events] == list(range(300)) == list(range(written.log.event_count))
    assert [event.timestamp_ns for event in events] == sorted(event.timestamp_ns for event in events)
    for who in range(3):
        assert [event.facts["number"] for event in events if event.facts["who"] == who] == list(range(100))


class _Clock:
    """A clock that goes on by seven at each look."""

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        self._now_ns += 7
        return self._now_ns


def _resolver(written: Written, hosts: dict[str, str]) -> TimedResolver:
    counters = CountersManager(bytearray(4 * 65536), bytearray(65536))
    for counter in SystemCounter:
        counters.allocate(counter.name, CounterType.SYSTEM)
    return TimedResolver(hosts.get, _Clock(), counters, threshold_ns=5, conductor_events=written.conductor_events)  # type: ignore[arg-type]


def test_the_text_of_an_address_is_looked_up_and_its_host_resolved(written: Written) -> None:
    resolver = _resolver(written, {"there": "10.0.0.9"})
    assert str(parse_address("aeron:udp", "endpoint", "there:4040", resolver)) == "10.0.0.9:4040"
    look_up, resolve = written.reader.poll()
    assert look_up.code is DriverEventCode.NAME_RESOLUTION_LOOKUP
    assert look_up.facts == {
        "resolver": "default",
        "duration_ns": 0,
        "name": "there:4040",
        "is_re_lookup": False,
        "resolved_name": "there:4040",
    }
    assert resolve.code is DriverEventCode.NAME_RESOLUTION_RESOLVE
    assert resolve.facts == {
        "resolver": "default",
        "duration_ns": 7,
        "name": "there",
        "is_re_resolution": False,
        "address": "10.0.0.9",
    }


def test_a_numeric_address_is_looked_up_and_not_resolved(written: Written) -> None:
    parse_address("aeron:udp", "control", "[::1]:7", _resolver(written, {}))
    (event,) = written.reader.poll()
    assert (event.code, event.facts["name"]) == (DriverEventCode.NAME_RESOLUTION_LOOKUP, "[::1]:7")


def test_a_name_that_is_unknown_when_it_is_asked_for_again(written: Written) -> None:
    resolver = _resolver(written, {})
    resolver.use(lambda _host: None, "driver")
    with pytest.raises(UnknownHostError):
        parse_address("aeron:udp", "endpoint", "gone:1", again(resolver))
    look_up, resolve = written.reader.poll()
    assert look_up.facts["is_re_lookup"] is resolve.facts["is_re_resolution"] is True
    assert look_up.facts["resolver"] == resolve.facts["resolver"] == "driver"
    assert resolve.facts["address"] is None


# ---- the driver


def test_a_driver_notes_frames_commands_and_states() -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with MediaDriver.launch_embedded(
        threading_mode="SHARED",
        event_log="all",
        event_log_disable="CMD_IN_KEEPALIVE_CLIENT",
        publication_linger_timeout_ns=10_000_000,
        image_liveness_timeout_ns=100_000_000,
        timer_interval_ns=1_000_000,
    ) as driver:
        with Aeron.connect(driver.aeron_dir) as aeron:
            with aeron.add_subscription(channel, 10) as subscription, aeron.add_exclusive_publication(channel, 10) as publication:
                while publication.offer(b"hello") < 0:
                    pass
                while not subscription.poll(lambda *_: None):
                    pass
                publication.revoke()
            removed = {
                DriverEventCode.REMOVE_PUBLICATION_CLEANUP,
                DriverEventCode.SEND_CHANNEL_CLOSE,
                DriverEventCode.RECEIVE_CHANNEL_CLOSE,
            }
            reader = EventReader(driver.aeron_dir, from_start=True)
            events = reader.poll()
            while not removed <= {event.code for event in events}:
                events += reader.poll()
        codes = {event.code for event in events}
        assert {
            DriverEventCode.START,
            DriverEventCode.FRAME_IN,
            DriverEventCode.FRAME_OUT,
            DriverEventCode.CMD_IN_ADD_SUBSCRIPTION,
            DriverEventCode.CMD_IN_ADD_EXCLUSIVE_PUBLICATION,
            DriverEventCode.CMD_OUT_SUBSCRIPTION_READY,
            DriverEventCode.CMD_OUT_EXCLUSIVE_PUBLICATION_READY,
            DriverEventCode.CMD_OUT_AVAILABLE_IMAGE,
            DriverEventCode.SEND_CHANNEL_CREATION,
            DriverEventCode.RECEIVE_CHANNEL_CREATION,
            DriverEventCode.REMOVE_SUBSCRIPTION_CLEANUP,
            DriverEventCode.PUBLICATION_REVOKE,
            DriverEventCode.NAME_RESOLUTION_LOOKUP,
        } <= codes
        frames = [event.facts for event in events if event.code is DriverEventCode.FRAME_OUT]
        assert {"SETUP", "SM", "DATA"} <= {facts["type"] for facts in frames}
        data = next(facts for facts in frames if facts["type"] == "DATA" and facts["frame"]["frame_length"])
        assert data["address"] == channel.partition("endpoint=")[2]
        assert data["frame"]["session_id"] == publication.session_id
        assert {event.code for event in events} <= ALL - set(DRIVER_EVENTS.never_noted)
        assert DriverEventCode.CMD_IN_KEEPALIVE_CLIENT not in codes
        assert not any(event.missed for event in events)
        reader.close()
    assert not Path(driver.aeron_dir).exists()


def test_a_driver_without_the_option_has_no_log() -> None:
    with MediaDriver.launch_embedded(threading_mode="SHARED") as driver:
        assert not (Path(driver.aeron_dir) / "event-log.dat").exists()
        with pytest.raises(AerowireError, match=r"there is no event log.*aeron.event.log=admin"):
            EventReader(driver.aeron_dir, from_start=True)


def test_a_reader_changes_to_the_log_of_the_next_driver(tmp_path: Path) -> None:
    first = Written(tmp_path)
    first.conductor_events.state(DriverEventCode.START, pid=1)
    assert len(first.reader.poll()) == 1
    assert not first.reader.follow()
    (tmp_path / "event-log.dat").unlink()
    assert not first.reader.follow()
    second = Written(tmp_path)
    second.conductor_events.state(DriverEventCode.START, pid=2)
    assert first.reader.follow()
    assert [event.facts for event in first.reader.poll()] == [{"pid": 2}]
