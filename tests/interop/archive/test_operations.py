"""Every operation and every refusal of an archive: our client gets what the official client gets."""

from __future__ import annotations

import pytest

from aerowire.archive import AeronArchive, FixedCredentials
from aerowire.base.errors import ArchiveError
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.interop.archive.nodes import ArchiveNode, finish, start_archive
from tests.interop.archive.operations import Operations
from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, Scenario
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# The archive answers RECORDING_UNKNOWN in place of an error: "unexpected response code" to the official client, a code to ours.
BETTER = {"update channel of unknown": f"error {ArchiveErrorCode.UNKNOWN_RECORDING}"}
CHALLENGING = {"aeron.archive.authenticator.supplier": "ChallengingAuthenticatorSupplier"}


def response_channel(transport: str) -> str:
    return "" if transport == "ipc" else f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"


def official_outcome(scenario: Scenario, node: ArchiveNode, transport: str) -> list[tuple[str, str]]:
    """Return what the official client gets on a fresh archive."""
    requests, responses = node.channels(transport)
    peer = scenario.bench.java.command(
        "ArchiveOperations",
        f"dir={node.driver.directory}",
        f"requests={requests}",
        f"responses={responses}",
        f"source={node.control_channel}",
        f"response={response_channel(transport)}",
        f"timeout={int(LIMIT_S)}",
    )
    process = scenario.bench.workshop.start("official operations", peer)
    found = []
    while "operation" in (line := process.result(LIMIT_S)):
        found.append((line["operation"], line["result"]))
    assert process.finish() == 0, process.said()
    return found


@pytest.mark.parametrize("transport", ["udp", "ipc"])
@pytest.mark.parametrize("driver_side", ["official", "aerowire"])
def test_every_operation_ends_as_with_the_official_client(scenario: Scenario, driver_side: Side, transport: str) -> None:
    scenario.feature(f"Archive client by {transport}: every operation and refusal")
    first, second = (start_archive(scenario, "official", scenario.driver(driver_side)) for _ in range(2))
    expected = official_outcome(scenario, first, transport)
    found = Operations(
        lambda **options: second.connect(transport, **options),
        source=second.control_channel,
        response=response_channel(transport) or None,
    ).run()
    assert found == [(name, BETTER.get(name, result)) for name, result in expected]
    assert len(found) > 80
    assert not [result for _, result in found if result.startswith("exception")]
    scenario.observed(f"{len(found)} operations, of which {sum(result.startswith('error') for _, result in found)} were refused")
    finish(scenario, first, second)


def test_a_challenge_is_answered_and_bad_credentials_are_refused(scenario: Scenario) -> None:
    scenario.feature("Archive client: challenge and credentials")
    node = start_archive(scenario, "official", scenario.driver("aerowire"), CHALLENGING)
    with node.connect("udp", credentials_supplier=FixedCredentials(b"hello", b"secret")) as archive:
        assert archive.list_recordings() == []
        for wrong in (FixedCredentials(b"hello", b"guess"), FixedCredentials(b"nobody")):
            with pytest.raises(ArchiveError, match="authentication rejected") as caught:
                node.connect("ipc", aeron=archive.aeron, credentials_supplier=wrong)
            assert caught.value.error_code == ArchiveErrorCode.AUTHENTICATION_REJECTED
        assert archive.list_recordings() == []
    scenario.observed("AUTHENTICATION_REJECTED")
    finish(scenario, node)


def test_requests_and_responses_go_by_a_response_channel(scenario: Scenario) -> None:
    scenario.feature("Archive client: control session by a response channel")
    node = start_archive(scenario, "official", scenario.driver("aerowire"))
    with node.connect("udp", control_response_channel=response_channel("udp")) as archive:
        assert isinstance(archive, AeronArchive)
        assert archive.start_recording("aeron:ipc", 5) >= 0
        assert len(archive.list_recording_subscriptions()) == 1
    scenario.observed("a subscription listed")
    finish(scenario, node)
