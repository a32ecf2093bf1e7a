"""Control sessions between clients and archives of both sides: by each transport, with credentials, challenges and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from aerowire.archive import AeronArchive, FixedCredentials
from aerowire.base.errors import ArchiveError
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.interop.archive.guards import guarded
from tests.interop.archive.nodes import ArchiveNode, finish, response_channel, start_archive
from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, Scenario, other

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

CHANNEL, STREAM_ID = "aeron:ipc?alias=guarded", 6001
Outcome = tuple[str, str]
REJECTED = f"error {ArchiveErrorCode.AUTHENTICATION_REJECTED}"
UNAUTHORISED = f"error {ArchiveErrorCode.UNAUTHORISED_ACTION}"
ALL = ("0", "true", "true", f"error {ArchiveErrorCode.UNKNOWN_RECORDING}", "closed")
LISTING = ("0", UNAUTHORISED, UNAUTHORISED, UNAUTHORISED, "closed")
STEPS = ("list", "record", "stop", "purge", "connect")


@dataclass(frozen=True)
class Session:
    """A session with its credentials, and what must come of its steps."""

    feature: str
    transport: str
    credentials: str
    answer: str
    results: tuple[str, ...]

    @property
    def expected(self) -> list[Outcome]:
        """What comes of each step, the connection last; a connection that is refused has no other steps."""
        return list(zip(STEPS[-len(self.results) :], self.results, strict=True))


SESSIONS = (
    Session("credentials, by udp", "udp", "admin:secret", "", ALL),
    Session("credentials, by ipc", "ipc", "admin:secret", "", ALL),
    Session("credentials, by a response channel", "response", "admin:secret", "", ALL),
    Session("a challenge that is answered", "udp", "hello", "secret", ALL),
    Session("a challenge that is answered, by a response channel", "response", "hello", "secret", ALL),
    Session("a challenge with a wrong answer", "udp", "hello", "guess", (REJECTED,)),
    Session("unknown credentials", "ipc", "reader:guess", "", (REJECTED,)),
    Session("requests that the rules refuse", "udp", "reader:secret", "", LISTING),
)


def channels(node: ArchiveNode, transport: str) -> tuple[str, str]:
    if transport == "response":
        return node.control_channel, response_channel()
    return node.channels(transport)


def official_outcomes(scenario: Scenario, node: ArchiveNode) -> Iterator[list[Outcome]]:
    """Yield what comes of each session of the official client."""
    given = []
    for transport in ("udp", "ipc", "response"):
        requests, responses = channels(node, transport)
        given += [f"requests-{transport}={requests}", f"responses-{transport}={responses}"]
    named = " ".join(f"{one.transport}/{one.credentials}/{one.answer}" for one in SESSIONS)
    command = scenario.bench.java.command("ArchiveSessions", f"dir={node.driver.directory}", f"sessions={named}", *given)
    process = scenario.bench.workshop.start("official sessions", command)
    found: list[Outcome] = []
    while "operation" in (line := process.result(LIMIT_S)):
        found.append((line["operation"], line["result"]))
        if line["operation"] == "connect":
            yield found
            found = []
    assert process.finish() == 0, process.said()


def our_outcomes(node: ArchiveNode) -> Iterator[list[Outcome]]:
    """Yield what comes of each session of our client."""
    for session in SESSIONS:
        found: list[Outcome] = []

        def say(name: str, operation: Callable[[], object], found: list[Outcome] = found) -> None:
            try:
                found.append((name, str(operation()).lower()))
            except ArchiveError as error:
                found.append((name, f"error {error.error_code}"))

        def work(session: Session = session, say: Callable[[str, Callable[[], object]], None] = say) -> str:
            requests, responses = channels(node, session.transport)
            credentials = FixedCredentials(session.credentials.encode(), session.answer.encode())
            connected = node.connect(
                "udp", control_request_channel=requests, control_response_channel=responses, credentials_supplier=credentials
            )
            with connected as archive:
                use(archive, say)
            return "closed"

        say("connect", work)
        yield found


def use(archive: AeronArchive, say: Callable[[str, Callable[[], object]], None]) -> None:
    """Do the steps of a session."""
    say("list", lambda: len(archive.list_recordings(0, 10)))
    say("record", lambda: archive.start_recording(CHANNEL, STREAM_ID) >= 0)
    say("stop", lambda: archive.try_stop_recording(CHANNEL, STREAM_ID))
    say("purge", lambda: archive.purge_recording(99))


@pytest.mark.parametrize(("archive_side", "client_side"), [("official", "aerowire"), ("aerowire", "official"), ("aerowire", "aerowire")])
def test_sessions_are_accepted_challenged_and_refused(scenario: Scenario, archive_side: Side, client_side: Side) -> None:
    driver = scenario.driver(other(archive_side) if archive_side == client_side else client_side)
    node = start_archive(scenario, archive_side, driver, guarded(archive_side))
    outcomes = official_outcomes(scenario, node) if client_side == "official" else our_outcomes(node)
    for session, found in zip(SESSIONS, outcomes, strict=True):
        scenario.next_feature(f"Archive session: {session.feature}")
        assert found == session.expected, session
        scenario.observed(", ".join(f"{step} {result}" for step, result in found))
    finish(scenario, node, client=f"{client_side} archive client")
