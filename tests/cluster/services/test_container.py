"""A container and its consensus module: start, log, events in order, errors of the service, the end."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.base.errors import ActiveClusterError
from aerowire.cluster.services import ClientSession
from aerowire.codecs.flyweights.cluster.enums import BooleanType, CloseReason
from aerowire.codecs.flyweights.cluster.messages.join_log import JoinLog
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cnc import ClusterCounterKeyEncoder, ClusterRole
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import LOG, LOG_STREAM_ID, TERM_ID, Rig, session_message


def test_a_service_gets_the_events_of_the_log_in_order(rig: Rig) -> None:
    service = NotingService()
    rig.start(service)
    rig.open_session(5)
    rig.append(session_message(5, b"one"), session_message(-9, b"two", timestamp=2001))
    rig.fire_timer(42)
    rig.close_session(5, reason=CloseReason.TIMEOUT)
    rig.run(lambda: service.events[-1][0] == "close")
    assert service.events == [
        ("start", False),
        ("role", "LEADER"),
        ("term", 3, 96, 2, 1),
        ("open", 5, 1001),
        ("message", 5, b"one", 2000),
        ("message", None, b"two", 2001),
        ("timer", 42, 1003),
        ("close", 5, 1002, "TIMEOUT"),
    ]
    # The position behind each event, and its time; a snapshot and a term tell theirs.
    assert service.places[2:] == [(96, 1000), (224, 1001), (320, 2000), (416, 2001), (480, 1003), (576, 1002)]


def test_nothing_is_read_at_the_commit_position_or_behind_it(rig: Rig) -> None:
    service = NotingService()
    rig.start(service)
    rig.run(lambda: service.events[-1][0] == "term")
    first = rig.append(session_message(5, b"one"), is_committed=False)
    rig.append(session_message(5, b"two"), is_committed=False)
    rig.cycles()
    assert service.events[-1][0] == "term"
    rig.commit_position.value = first
    rig.run(lambda: service.events[-1][0] == "message")
    rig.cycles()
    assert service.take()[-1] == ("message", None, b"one", 2000)


def test_a_message_in_fragments_arrives_whole_and_behind_what_was_before_it(rig: Rig) -> None:
    service = NotingService()
    rig.start(service)
    long = bytes(range(256)) * 24
    for _ in range(15):  # over the end of terms
        end = rig.append(session_message(5, b"before"), session_message(5, long), session_message(5, b"after"))
        rig.run(lambda: rig.containers[0].cluster.log_position == end)  # noqa: B023 called at once
    payloads = [event[2] for event in service.events if event[0] == "message"]
    assert payloads == [b"before", long, b"after"] * 15


def test_what_a_callback_raises_is_recorded_and_the_next_event_comes(rig: Rig) -> None:
    handled: list[BaseException] = []

    class Failing(NotingService):
        def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
            super().on_session_message(session, message, at)
            if message == b"bad":
                raise ValueError("a bad message")

        def on_timer_event(self, correlation_id: int, _at: int) -> None:
            raise KeyError(correlation_id)

    service = Failing()
    container = rig.start(service, error_handler=handled.append)
    rig.append(session_message(5, b"bad"), session_message(5, b"good"))
    rig.fire_timer(7)
    end = rig.fire_timer(8)
    rig.run(lambda: container.cluster.log_position == end)
    assert [event[2] for event in service.events if event[0] == "message"] == [b"bad", b"good"]
    assert rig.errors(container) == ["ValueError: a bad message", "KeyError: 7", "KeyError: 8"]
    assert [type(error) for error in handled] == [ValueError, KeyError, KeyError]
    assert rig.error_count(container) == 3


def test_an_error_handler_that_fails_is_an_error_too(rig: Rig) -> None:
    def handler(_error: BaseException) -> None:
        raise RuntimeError("no")

    container = rig.start(NotingService(), error_handler=handler)
    rig.append(b"\x01\x02")
    rig.run(lambda: rig.error_count(container) == 2)
    assert rig.errors(container)[0] == "RuntimeError: no"


def test_a_service_that_does_not_start_says_so_and_ends(rig: Rig) -> None:
    ended: list[bool] = []

    class Failing(NotingService):
        def on_start(self, *_: Any) -> None:
            raise OSError("no database")

    container = rig.launch(Failing(), termination_hook=lambda: ended.append(True))
    rig.recover(position=640, timestamp=99)
    assert rig.take(ServiceAck) == ServiceAck(log_position=640, timestamp=99, ack_id=0, relevant_id=-1, service_id=0)
    rig.run(lambda: container.has_ended)
    assert ended == [True]
    assert container.termination is not None
    assert not container.termination.is_expected
    assert "service 0 has failed to start: term -1, log position 640" in rig.errors(container)[0]
    assert "OSError: no database" in rig.errors(container)[0]


def test_a_service_takes_the_role_of_its_member_and_follows_when_the_log_ends(rig: Rig) -> None:
    service = NotingService()
    container = rig.start(service)
    assert (container.cluster.member_id, container.cluster.role) == (2, ClusterRole.LEADER)
    assert rig.mark_file()[0].member_id == 2
    rig.run(lambda: service.take()[-1:] == [("term", 3, 96, 2, 1)])
    assert rig.log is not None
    end = rig.append(session_message(5, b"last"))
    rig.log.close()
    rig.log = None
    rig.run(lambda: service.events[-1:] == [("role", "FOLLOWER")])
    rig.join(role=ClusterRole.FOLLOWER, position=end)
    assert rig.take(ServiceAck) == ServiceAck(log_position=end, timestamp=2000, ack_id=2, relevant_id=-1, service_id=0)
    rig.append(session_message(5, b"next"))
    rig.run(lambda: service.events[-1] == ("message", None, b"next", 2000))
    assert [event[0] for event in service.events] == ["message", "role", "message"]


def test_the_log_is_left_at_the_position_that_the_module_names(rig: Rig) -> None:
    service = NotingService()
    rig.launch(service)
    rig.recover()
    rig.join(role=ClusterRole.FOLLOWER, max_position=96)
    rig.begin_term()
    rig.append(session_message(5, b"of another leader"), is_committed=False)
    rig.run(lambda: rig.containers[0].agent.log.image is None and service.events[-1][0] == "term")
    assert rig.containers[0].cluster.log_position == 96


def test_a_log_that_never_comes_is_given_up_for_the_next(rig: Rig) -> None:
    container = rig.launch(NotingService())
    rig.recover()
    assert rig.take(ServiceAck).ack_id == 0
    rig.tell(
        JoinLog(
            log_position=0,
            max_log_position=4096,
            member_id=2,
            log_session_id=4711,  # of a consensus module that was killed
            log_stream_id=LOG_STREAM_ID,
            is_startup=BooleanType.TRUE,
            role=ClusterRole.FOLLOWER,
            is_standby=BooleanType.FALSE,
            log_channel=f"{LOG}|session-id=4711",
        )
    )
    rig.run(lambda: getattr(container.agent._operation, "what", None) == "join the log at 0")
    rig.join(role=ClusterRole.LEADER)
    assert rig.take(ServiceAck).ack_id == 1
    assert (container.cluster.role, rig.errors(container)) == (ClusterRole.LEADER, [])


def test_a_log_that_begins_elsewhere_is_not_joined(rig: Rig) -> None:
    container = rig.launch(NotingService())
    rig.recover(position=4096)
    rig.take(ServiceAck)
    rig.join(position=8192)
    rig.run(lambda: rig.errors(container))
    assert "the log does not go on where the service stands" in rig.errors(container)[0]
    assert "expected log position 4096; got log position 8192" in rig.errors(container)[0]
    assert container.agent.log.image is None
    assert not container.has_ended


def test_an_application_of_another_major_version_ends_the_container(rig: Rig) -> None:
    container = rig.start(NotingService(), app_version=0x010203)
    rig.run(lambda: container.has_ended)
    assert "a version that goes with 1.2.3; got 0.0.1" in rig.errors(container)[0]


def test_an_event_of_a_later_version_passes(rig: Rig) -> None:
    service = NotingService()
    container = rig.start(service)
    event = bytearray(session_message(5, b"?"))
    event[2:4] = (25).to_bytes(2, "little")
    rig.append(bytes(event), session_message(5, b"x"))
    rig.run(lambda: service.events[-1] == ("message", None, b"x", 2000))
    assert rig.errors(container) == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b"\x18\x00\x01\x00\x70\x00\x11\x00" + bytes(24), "schema 111; got schema 112"),
        (b"\x18\x00\x01", "schema 111; got 3 bytes"),
        (b"\x18\x00\x01\x00\x6f\x00\x11\x00" + bytes(23), "32 bytes of header; got 31 bytes"),
        (b"\x18\x00\x14\x00\x6f\x00\x11\x00" + bytes(5), "an event in the log is damaged"),
    ],
)
def test_a_damaged_message_in_the_log_is_recorded_and_passed(rig: Rig, message: bytes, problem: str) -> None:
    service = NotingService()
    container = rig.start(service)
    rig.append(message, session_message(5, b"x"))
    rig.run(lambda: service.events[-1][0] == "message")
    assert problem in rig.errors(container)[0]


def test_sessions_that_clash_or_are_unknown_are_recorded(rig: Rig) -> None:
    service = NotingService()
    container = rig.start(service, role=ClusterRole.FOLLOWER)
    rig.open_session(5)
    rig.open_session(5)
    end = rig.close_session(6)
    rig.run(lambda: container.cluster.log_position == end)
    first, second = rig.errors(container)
    assert "a session opens that is open" in first
    assert "unknown session close: session 6, CLIENT_ACTION, log position 448, term 3" in second
    assert [session.id for session in container.cluster.client_sessions] == [5]


def test_a_damaged_message_to_services_is_recorded_and_the_next_is_obeyed(rig: Rig) -> None:
    container = rig.start(NotingService())
    end = rig.append(session_message(5, b"x"))
    for damaged in (
        b"\x01",
        b"\x28\x00\x28\x00\x70\x00\x11\x00",
        b"\x28\x00\x28\x00\x6f\x00\x11\x00\x01",
        b"\x0c\x00\x2b\x00\x6f\x00\x11\x00",
    ):
        rig.run(lambda: rig.control.offer(damaged) > 0)  # noqa: B023 called at once
    rig.request_ack(end)
    assert rig.take(ServiceAck) == ServiceAck(log_position=end, timestamp=2000, ack_id=2, relevant_id=-1, service_id=0)
    assert rig.error_count(container) == 3  # the last one is for a tool


def test_an_ack_is_sent_when_the_service_has_come_to_its_position(rig: Rig) -> None:
    container = rig.start(NotingService())
    rig.request_ack(192)
    rig.cycles()
    assert not rig.messages
    rig.append(session_message(5, b"12345678"), session_message(5, b"12345678"))
    rig.take(ServiceAck)
    assert "invalid ack request: log position 288 > requested 192" in rig.errors(container)[0]


@pytest.mark.parametrize("is_ack_required", [True, None])
def test_a_container_ends_at_the_position_that_the_module_names(rig: Rig, is_ack_required: bool | None) -> None:
    service, ended = NotingService(), []
    container = rig.start(service, termination_hook=lambda: ended.append(service.events[-1]))
    rig.terminate(192, is_ack_required=is_ack_required)
    rig.cycles()
    assert not container.has_ended
    rig.append(session_message(5, b"12345678"))
    assert rig.take(ServiceAck).log_position == 192
    rig.run(lambda: container.has_ended)
    assert ended == [("terminate",)]
    assert container.termination is not None
    assert container.termination.is_expected
    assert rig.errors(container) == []
    assert rig.mark_file()[0].activity_timestamp_ms == -1


def test_a_container_ends_without_an_ack_where_none_is_required(rig: Rig) -> None:
    container = rig.start(NotingService())
    rig.append(session_message(5, b"12345678"))
    rig.run(lambda: container.cluster.log_position == 192)
    rig.terminate(96, is_ack_required=False)
    rig.run(lambda: container.has_ended)
    rig.cycles()
    assert not rig.messages
    assert container.termination is not None
    assert not container.termination.is_expected
    assert "service terminate: log position 192 > termination position 96" in rig.errors(container)[0]


def test_a_container_ends_when_its_module_has_gone(rig: Rig) -> None:
    service = NotingService()
    container = rig.start(service)
    rig.commit_position.close()
    rig.run(lambda: container.has_ended)
    assert service.events[-1] == ("terminate",)
    assert rig.errors(container) == ["WARN - commit-pos counter unexpectedly closed, terminating"]


def test_a_container_waits_for_the_module_that_comes_after_one_that_was_killed(rig: Rig) -> None:
    service = NotingService()
    container = rig.launch(service)
    rig.cycles()
    rig.commit_position.close()
    rig.cycles()
    assert not container.has_ended
    key = ClusterCounterKeyEncoder.encode(cluster_id=0)
    rig.commit_position = rig.aeron.add_counter(CounterType.CLUSTER_COMMIT_POSITION, "commit-pos", key=key)
    rig.recover()
    rig.take(ServiceAck)
    rig.join()
    rig.begin_term()
    rig.run(lambda: service.events[-1][0] == "term")
    assert rig.errors(container) == []


def test_a_close_tells_the_service_and_frees_the_directory(rig: Rig) -> None:
    service = NotingService()
    container = rig.start(service)
    with pytest.raises(ActiveClusterError, match="a live service 0 owns the directory"):
        rig.launch(NotingService())
    container.close()
    assert service.events[-1] == ("terminate",)
    assert container.has_ended
    container.close()
    rig.launch(NotingService())


def test_a_service_that_exits_ends_its_container(rig: Rig) -> None:
    class Exiting(NotingService):
        def on_timer_event(self, _correlation_id: int, _at: int) -> None:
            raise SystemExit(3)

    container = rig.start(Exiting())
    rig.fire_timer(1)
    with pytest.raises(SystemExit):
        rig.cycles()
    rig.run(lambda: container.has_ended)
    assert "SystemExit in the service" in rig.errors(container)[0]


def test_counters_and_mark_file_are_the_official_ones(rig: Rig) -> None:
    rig.launch(NotingService(), service_id=3, cluster_id=9)
    labels = {info.type_id: (info.label, info.key) for info in rig.aeron.counters_reader.for_each()}
    key = (9).to_bytes(4, "little") + (3).to_bytes(4, "little")
    suffix = " - clusterId=9 serviceId=3"
    error, error_key = labels[CounterType.CLUSTER_CLUSTERED_SERVICE_ERROR_COUNT]
    assert error.startswith("Cluster Container Errors" + suffix + " version=")
    assert error_key[:8] == key
    for kind, label in (
        (CounterType.CLUSTER_CLUSTERED_SERVICE_MAX_CYCLE_TIME, "Cluster container max cycle time in ns"),
        (
            CounterType.CLUSTER_CLUSTERED_SERVICE_CYCLE_TIME_THRESHOLD_EXCEEDED,
            "Cluster container work cycle time exceeded count: threshold=100ms",
        ),
        (CounterType.CLUSTERED_SERVICE_MAX_SNAPSHOT_DURATION, "Clustered service max snapshot duration in ns"),
        (
            CounterType.CLUSTERED_SERVICE_SNAPSHOT_DURATION_THRESHOLD_EXCEEDED,
            "Clustered service max snapshot duration exceeded count: threshold=1s",
        ),
    ):
        assert (labels[kind][0], labels[kind][1][:8]) == (label + suffix, key)
    header = rig.mark_file(3)[0]
    assert (header.service_id, header.cluster_id, header.service_name, header.control_channel) == (
        3,
        9,
        "clustered-service-9-3",
        "aeron:ipc?term-length=128k",
    )
    assert (header.archive_stream_id, header.service_stream_id, header.consensus_module_stream_id, header.member_id) == (10, 104, 105, -1)
    assert header.version != 0


def test_a_term_is_in_the_headers_of_what_the_service_sends(rig: Rig) -> None:
    container = rig.start(NotingService())
    rig.run(lambda: container.cluster.time_unit is not None)
    assert container.agent.core.header.encode(9, 8)[8:32] == b"".join(number.to_bytes(8, "little") for number in (TERM_ID, 9, 8))
