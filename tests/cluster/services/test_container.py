"""A container and its consensus module: start, log, events in order, the end."""

from __future__ import annotations

from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import Rig, session_message


def test_a_service_gets_the_events_of_the_log_in_order(rig: Rig) -> None:
    service = NotingService()
    rig.start(service)
    rig.open_session(5)
    rig.append(session_message(5, b"one"), session_message(-9, b"two", timestamp=2001))
    rig.fire_timer(42)
    rig.close_session(5)
    rig.run(lambda: service.events[-1][0] == "close")
    assert service.events == [
        ("start", False),
        ("role", "LEADER"),
        ("term", 3, 96, 2, 1),
        ("open", 5, 1001),
        ("message", 5, b"one", 2000),
        ("message", None, b"two", 2001),
        ("timer", 42, 1003),
        ("close", 5, 1002, "CLIENT_ACTION"),
    ]
