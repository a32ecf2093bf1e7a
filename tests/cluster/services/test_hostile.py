"""Messages that no consensus module sends, by the stream to services and in the log: none ends a container, and memory does not grow."""

from __future__ import annotations

import random

from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cnc import ClusterRole
from tests.cluster.services.noting_service import NotingService
from tests.cluster.services.scripted_module import Rig, session_message

MESSAGES = 400
# Of the log and of the stream to services, and what is next to them. JoinLog and the termination are left to other tests: they are obeyed.
TEMPLATES = (1, 2, 3, 20, 21, 22, 23, 25, 27, 33, 41, 43, 99, 65535)


def hostile(rng: random.Random) -> bytes:
    """Return a message with a header that may be right, and any content."""
    template_id = rng.choice(TEMPLATES)
    schema_id = 111 if rng.random() < 0.9 else rng.randrange(1 << 16)
    header = b"".join(
        number.to_bytes(2, "little") for number in (rng.choice([0, 8, 24, 40, 65535]), template_id, schema_id, rng.randrange(40))
    )
    return (header + rng.randbytes(rng.choice([0, 1, 7, 24, 36, 100, 2000])))[: rng.choice([3, 8, 9, 5000])]


def test_a_container_survives_hostile_messages(rig: Rig, seed: int) -> None:
    rng = random.Random(seed)
    service = NotingService()
    container = rig.start(service, role=ClusterRole.FOLLOWER)
    for _ in range(MESSAGES):
        rig.append(hostile(rng))
        data = hostile(rng)
        rig.run(lambda: rig.control.offer(data) > 0)  # noqa: B023 called at once
        service.take()
    rig.append(session_message(5, b"still here"))
    rig.run(lambda: service.events and service.events[-1][2:3] == (b"still here",))
    assert rig.log is not None
    rig.request_ack(0)
    rig.take(ServiceAck)
    assert not container.has_ended
    assert len(rig.errors(container)) < 3 * MESSAGES
    assert rig.error_count(container) > MESSAGES / 2
