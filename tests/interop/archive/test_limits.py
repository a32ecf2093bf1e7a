"""Archives of both sides with limits, on one driver: the same counters, and the same results and refusals for clients of both sides."""

from __future__ import annotations

import pytest

from aerowire.archive import ReplayParams
from aerowire.client import Subscription
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.interop.archive.counters import EXACT, VARYING, archive_counters
from tests.interop.archive.limited_operations import FULL, LIMITS, LimitedOperations
from tests.interop.archive.nodes import ArchiveNode, finish, start_archive
from tests.interop.archive.work import Outcome, Told, told_by_peer
from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, Scenario
from tests.support.processes import free_port
from tests.support.waiting import rest, wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SIDES: tuple[Side, Side] = ("official", "aerowire")
IDS = {"official": 4721, "aerowire": 4722}  # and the next ones are those of the archives without space

# Each of them is the answer to at least one operation.
REFUSALS = {
    ArchiveErrorCode.GENERIC,
    ArchiveErrorCode.ACTIVE_LISTING,
    ArchiveErrorCode.ACTIVE_RECORDING,
    ArchiveErrorCode.UNKNOWN_RECORDING,
    ArchiveErrorCode.MAX_REPLAYS,
    ArchiveErrorCode.MAX_RECORDINGS,
    ArchiveErrorCode.INVALID_EXTENSION,
    ArchiveErrorCode.STORAGE_SPACE,
    ArchiveErrorCode.UNKNOWN_REPLICATION,
    ArchiveErrorCode.EMPTY_RECORDING,
}

RECORDED_STREAM, REPLAYED_STREAM = 1301, 2301
# Requests that only the official client has calls for.
OLD = "old: "
# Fewer bytes than the window of the replay: the official archive counts a block again that it reads again for want of room.
MESSAGES = 20


def await_messages(subscription: Subscription, count: int) -> None:
    """Read messages until there were so many."""
    read = 0

    def work() -> None:
        nonlocal read
        read += len(subscription.poll_many(50))
        rest()

    wait_until(lambda: read >= count, lambda: f"{read} messages", work=work)


def compare_counters(scenario: Scenario, *nodes: ArchiveNode) -> None:
    """Let each archive record and replay the same, and assert that it has the same counters meanwhile."""
    scenario.next_feature("Archive: counters while it records and replays")
    scenario.row.publishing = "official and aerowire archive, official driver"
    found = []
    for node in nodes:
        with node.connect("udp", client_name="compared") as archive:
            publication = archive.add_recorded_exclusive_publication("aeron:ipc?term-length=64k|alias=counted", RECORDED_STREAM)
            for _ in range(MESSAGES):
                publication.send(b"counted".ljust(1000), timeout_ns="60s")
            wait_until(archive.list_recordings, "the recording")
            archive.await_recorded(0, publication.position)
            with archive.replay(0, "aeron:ipc?term-length=64k", REPLAYED_STREAM, ReplayParams(position=0)) as replay:
                await_messages(replay, MESSAGES)
                found.append(archive_counters(node, archive, publication.session_id))
            archive.stop_all_replays()
            archive.stop_recording(publication)
    expected, ours = found
    assert ours == expected
    assert {counter.type_id for counter in ours} == EXACT | VARYING
    scenario.observed(f"{len(ours)} counters, by type, label, key and value")


def told_by(channel: str) -> dict[str, str]:
    """Return the properties of an archive that tells of recordings by a channel."""
    return {"aeron.archive.recording.events.enabled": "true", "aeron.archive.recording.events.channel": channel}


def official_runs(scenario: Scenario, limited: list[ArchiveNode], full: list[ArchiveNode], events: list[str]) -> list[list[Told]]:
    """Return what comes of the operations of the official client, at each archive in turn."""
    given = {
        "dir": limited[0].driver.directory,
        "responses": limited[0].channels("udp")[1],
        "timeout": int(LIMIT_S),
        "archives": " ".join(node.control_channel for node in limited),
        "events": " ".join(events),
        "full": " ".join(node.control_channel for node in full),
    }
    command = scenario.bench.java.command("LimitedArchiveOperations", *(f"{name}={value}" for name, value in given.items()))
    process = scenario.bench.workshop.start("official operations", command)
    runs: list[list[Told]] = []
    for _ in (*limited, *full):
        run: list[Told] = []
        while "operation" in (line := process.result(LIMIT_S)):
            run.append(told_by_peer(line))
        runs.append(run)
    assert process.outcome("operations", LIMIT_S)
    assert process.finish() == 0, process.said()
    return runs


def check(scenario: Scenario, found: list[Outcome], expected: list[Outcome]) -> None:
    """Assert that operations ended as with the official client and the official archive."""
    assert found == expected
    assert not [result for _, result in found if result.startswith("exception")]
    scenario.observed(f"{len(found)} operations, of which {sum(result.startswith('error') for _, result in found)} were refused")


def test_archives_with_limits_count_refuse_and_join_alike(scenario: Scenario) -> None:
    driver = scenario.driver("official")
    scenario.row.subscribing = ["aerowire archive client"]
    events = {side: f"aeron:udp?control-mode=dynamic|control=127.0.0.1:{free_port()}" for side in SIDES}
    limited = [
        start_archive(scenario, side, driver, {"aeron.archive.id": str(IDS[side]), **LIMITS, **told_by(events[side])}) for side in SIDES
    ]
    full = [start_archive(scenario, side, driver, {"aeron.archive.id": str(IDS[side] + len(IDS)), **FULL}) for side in SIDES]
    compare_counters(scenario, *limited)

    runs = official_runs(scenario, limited, full, list(events.values()))
    told, served = ([*runs[index], *runs[index + len(SIDES)]] for index in range(len(SIDES)))
    expected = [(name, result) for name, result, _ in told]

    feature = "Archive with limits: refusals, joined segments and stopped copies"
    for node, without_space in zip(limited, full, strict=True):
        if node.side == "aerowire":
            scenario.next_feature(f"{feature}, of the official client")
            scenario.row.publishing, scenario.row.subscribing = "aerowire archive, official driver", ["official archive client"]
            assert served == told
            check(scenario, [(name, result) for name, result, _ in served], expected)
        scenario.next_feature(f"{feature}, of our client")
        scenario.row.publishing, scenario.row.subscribing = f"{node.side} archive, official driver", ["aerowire archive client"]
        given = {"recording_events_channel": events[node.side]}
        found = LimitedOperations(
            lambda node=node, given=given, **options: node.connect("udp", **given, **options), source=node.control_channel
        ).run()
        found += LimitedOperations(lambda node=without_space, **options: node.connect("udp", **options), source="").run_without_space()
        check(scenario, found, [(name, result) for name, result in expected if not name.startswith(OLD)])
    assert {f"{OLD}start recording", f"{OLD}extend recording"} <= {name for name, result in expected if result == "OK"}
    refused = {int(result.removeprefix("error ")) for _, result in expected if result.startswith("error ")}
    assert refused == {int(code) for code in REFUSALS}
    finish(scenario, *limited, *full)
