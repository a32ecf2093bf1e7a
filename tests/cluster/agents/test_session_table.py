"""The table of open sessions holds what a dict would hold, whatever comes and goes."""

from __future__ import annotations

import random

from aerowire.cluster.agents.session_table import OpenSession, SessionTable


def test_sessions_that_come_and_go_at_random_are_those_of_a_dict(seed: int) -> None:
    draw = random.Random(seed)
    table = SessionTable()
    twin: dict[int, OpenSession] = {}
    for _ in range(20_000):
        session_id = draw.choice((draw.randrange(1, 200), draw.randrange(-(1 << 63), 1 << 63), draw.randrange(-32, 32) << 58))
        if draw.random() < 0.6:
            session = OpenSession(session_id, 0)
            assert table.add(session) is (session_id not in twin)
            twin.setdefault(session_id, session)
        else:
            session_id = draw.choice((session_id, *list(twin)[:3]))
            assert table.remove(session_id) is (session_id in twin)
            twin.pop(session_id, None)
        assert table.count == len(twin)
    for session_id, session in twin.items():
        assert table.get(session_id) is session
    assert table.get(1 << 40) is None


def test_a_session_begins_with_its_opening_and_no_image() -> None:
    session = OpenSession(17, 1_000)
    assert (session.cluster_session_id, session.time_of_last_activity_ns, session.ingress_image_id) == (17, 1_000, -1)
