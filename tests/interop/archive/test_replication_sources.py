"""Replication from sources that ask for credentials, and from one that is killed."""

from __future__ import annotations

import pytest

from aerowire.archive import AeronArchive, FixedCredentials, ReplicationParams
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.interop.archive.content import Batch, hash_of, replayed
from tests.interop.archive.guards import guarded
from tests.interop.archive.nodes import ArchiveNode, finish, start_archive
from tests.interop.archive.remains import counters_left
from tests.interop.archive.replicator import FIRST, SECOND, STREAM_ID, Replicator, record
from tests.interop.harness import Side
from tests.interop.scenarios import LENGTH_MAX, Scenario, other
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

ADMIN = b"admin:secret"
LONG = Batch(17, 1_000_000)
# Messages of a second: the source dies while its recording goes on.
RATE = 400
COPIED_MIN = 1_000_000  # bytes that are copied before


def fail(scenario: Scenario, feature: str, replicator: Replicator, credentials: bytes, code: ArchiveErrorCode) -> None:
    """Ask for a copy, which the source refuses, and assert how it ends."""
    scenario.next_feature(feature)
    replicator.start(0, ReplicationParams(encoded_credentials=credentials))
    replicator.await_signals("REPLICATE_END")
    error = replicator.archive.poll_for_error_response()
    assert error is not None
    assert error.error_code == code, error
    scenario.observed(f"error {error.error_code}; signals {', '.join(replicator.names)}")


@pytest.mark.parametrize("target_side", ["official", "aerowire"])
def test_a_source_gets_the_credentials_of_the_request(scenario: Scenario, target_side: Side) -> None:
    source_side = other(target_side)
    source = start_archive(scenario, source_side, scenario.driver(source_side), guarded(source_side))
    target = start_archive(scenario, target_side, scenario.driver(target_side))
    with source.connect("ipc", credentials_supplier=FixedCredentials(ADMIN)) as recorded:
        scenario.feature("Archive replication: a source with credentials, recorded by its admin")
        scenario.row.publishing, scenario.row.subscribing = f"{source_side} archive and driver", [f"{target_side} archive and driver"]
        record(recorded)
        assert replayed(recorded, 0) == hash_of(FIRST, SECOND)
        scenario.row.messages = FIRST.messages + SECOND.messages
        replicator = Replicator(scenario, source, target)
        with replicator.archive:
            replicator.copy("Archive replication: with credentials", ReplicationParams(encoded_credentials=ADMIN), FIRST, SECOND)
            failure = ArchiveErrorCode.REPLICATION_CONNECTION_FAILURE
            fail(scenario, "Archive replication: with wrong credentials", replicator, b"reader:guess", failure)
            # Our archive passes on the code of the source's refusal.
            refusal = ArchiveErrorCode.UNAUTHORISED_ACTION if target_side == "aerowire" else ArchiveErrorCode.GENERIC
            fail(scenario, "Archive replication: with credentials that do not permit it", replicator, b"reader:secret", refusal)
            assert len(replicator.archive.list_recordings()) == 1
    finish(scenario, target, source)


def dying_source(scenario: Scenario, side: Side) -> tuple[ArchiveNode, AeronArchive]:
    """Start an archive with a client that has it record a publication, of a process of its own, that goes on."""
    source = start_archive(scenario, side, scenario.driver(side))
    client = source.connect("ipc")
    channel = "aeron:ipc?term-length=64k"
    client.start_recording(channel, STREAM_ID)
    scenario.bench.peer(
        "aerowire",
        "publisher",
        source.driver,
        channel=channel,
        stream=STREAM_ID,
        seed=LONG.seed,
        length_max=LENGTH_MAX,
        messages=LONG.messages,
        timeout=120,
        **{"per-second": RATE},
    )
    wait_until(lambda: len(client.list_recordings()) == 1, "the recording", work=client.poll)
    return source, client


@pytest.mark.parametrize("target_side", ["official", "aerowire"])
def test_a_copy_ends_in_order_when_its_source_is_killed_and_goes_on_with_the_next(scenario: Scenario, target_side: Side) -> None:
    scenario.feature("Archive replication: the source is killed")
    source_side = other(target_side)
    scenario.row.publishing, scenario.row.subscribing = f"{source_side} archive and driver", [f"{target_side} archive and driver"]
    target = start_archive(scenario, target_side, scenario.driver(target_side, {"aeron.image.liveness.timeout": "2s"}))
    source, client = dying_source(scenario, source_side)
    replicator = Replicator(scenario, source, target)
    with replicator.archive as archive:
        replicator.start(0, ReplicationParams())
        replicator.await_signals("REPLICATE", "EXTEND")
        copy = replicator.signals[0].recording_id
        archive.await_recorded(copy, COPIED_MIN)
        source.kill()
        scenario.kill(source.driver)
        client.close()
        replicator.await_signals("STOP", "REPLICATE_END")
        assert sorted(replicator.names) == ["EXTEND", "REPLICATE", "REPLICATE_END", "STOP"]
        assert archive.list_recording_subscriptions() == []
        wait_until(lambda: not [label for label in counters_left(target.driver) if label.startswith("rec-pos")], "no counter of the copy")
        scenario.row.messages = compare_beginning(archive, copy)
        scenario.observed(f"content hash of {scenario.row.messages} messages; signals {', '.join(replicator.names)}")

        scenario.next_feature("Archive replication: the killed source's directory, served by our archive")
        revived = start_archive(scenario, "aerowire", scenario.driver(target_side), directory=source.directory)
        replicator.source = revived
        with revived.connect("ipc") as recovered:
            messages, end = compare_beginning(recovered, 0), recovered.get_stop_position(0)
        replicator.start(0, ReplicationParams(dst_recording_id=copy))
        replicator.await_signals("SYNC", "REPLICATE_END")
        # The copy was complete, or it was extended, and that is over.
        wait_until(lambda: archive.get_stop_position(copy) == end, "the end of the copy", work=archive.poll)
        assert compare_beginning(archive, copy) == messages
        scenario.row.messages = messages
        scenario.observed(f"content hash of {messages} messages; signals {', '.join(replicator.names)}")
    finish(scenario, target, revived)


def compare_beginning(archive: AeronArchive, recording_id: int) -> int:
    """Assert that a recording has the first messages of the long batch; return how many."""
    found = replayed(archive, recording_id)
    messages = int(str(found["messages"]))
    assert messages > 0
    assert found == hash_of(Batch(LONG.seed, messages))
    return messages
