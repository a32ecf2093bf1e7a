"""The bytes of pending service messages beside the official ring buffer: a snapshot says how many there are."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from aerowire.cluster.service_messages.pending_service_message_tracker import SESSION_HEADER_LENGTH, PendingServiceMessageTracker
from aerowire.cluster.snapshots.consensus_module_snapshot import PendingMessagesRecord
from tests.conftest import SEED
from tests.interop.harness import Java

pytestmark = pytest.mark.interop

COMMANDS = 20_000


def random_commands(random: Random) -> list[str]:
    commands = []
    pending = 0
    for _ in range(COMMANDS):
        draw = random.random()
        if draw < 0.55:
            length = random.choice([random.randrange(64), random.randrange(3_000), random.randrange(40_000)])
            commands.append(f"append {SESSION_HEADER_LENGTH + length}")
            pending += 1
        elif draw < 0.998:
            count = random.choice([0, 1, 2, pending, random.randrange(pending + 1)])
            commands.append(f"consume {count}")
            pending -= min(count, pending)
        else:
            commands.append(f"reset {random.choice([0, 1, 64, 96, 1_000, random.randrange(100_000)])}")
            pending = 0
    return commands


def test_pending_messages_take_as_many_bytes_as_in_the_official_ring(java: Java, tmp_path: Path) -> None:
    commands = random_commands(Random(SEED))
    (tmp_path / "commands").write_text("\n".join(commands) + "\n")
    official = java.run_tool("RingSizes", tmp_path, str(tmp_path / "commands")).splitlines()
    tracker = PendingServiceMessageTracker(3)
    for number, (command, expected) in enumerate(zip(commands, official, strict=True), 1):
        name, argument = command.split()
        count = int(argument)
        if name == "append":
            assert tracker.enqueue_message(bytes(count))
        elif name == "consume":
            tracker.sweep_follower_messages(min(tracker.log_service_session_id + count, tracker.next_service_session_id - 1))
        else:
            number_of_next = tracker.next_service_session_id
            tracker.load(
                PendingMessagesRecord(
                    service_id=3, next_service_session_id=number_of_next, log_service_session_id=number_of_next - 1, capacity=count
                )
            )
        assert str(tracker.size) == expected.split()[0], f"line {number}: {command}"
    assert any(int(line.split()[1]) > 100_000 for line in official)
