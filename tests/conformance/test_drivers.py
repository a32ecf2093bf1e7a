"""The whole catalogue, the golden captures and a bombardment against this distribution's driver and the official one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.conformance.catalogue import all_cases
from aerowire.conformance.fuzz import SINCE, fuzz
from aerowire.conformance.impairment import Impairment
from aerowire.conformance.model import MACHINE_LACKS, MACHINE_LOADED, Case, Result, Verdict, is_older
from aerowire.conformance.parallel import run_in_parallel
from aerowire.conformance.peers.base import Peer, PeerError, started
from aerowire.conformance.peers.drivers import AerowirePeer, JavaPeer, short_timers
from aerowire.conformance.replay import ReplayError, replay_file
from aerowire.conformance.runner import Runner
from tests.conftest import SEED
from tests.interop.harness import AERON_ALL, find_jar

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
# The golden captures; one holds no data, as nobody but a spy received it.
GOLDEN = sorted(path.stem for path in CAPTURES.glob("*.pcap") if path.stem != "spies_simulate_connection")
# A case whose stimulus did not leave, or left too late, has shown nothing, nor has one that failed on a loaded machine: it is run again.
ATTEMPTS = 3
# Drivers at once: other tests run beside ours, while the official one has the machine for itself, and cases mostly wait.
JOBS = {"aerowire": 4, "java": 12}
# What the bar `replay` does not mix: each alone.
IMPAIRMENTS = ("", "loss=0.1,loss.burst=3", "reverse=8,duplicate=0.1", "truncate=0.1,flip=0.1")
# Captures where these differ most: plain, fragments and padding, a group, many destinations, no repair.
TYPICAL = ("unicast_simple", "fragmented_10k", "loss_multicast", "mdc_manual", "unreliable_gap_fill")


@pytest.fixture(scope="module", params=["aerowire", pytest.param("java", marks=pytest.mark.interop)])
def kind(request: pytest.FixtureRequest) -> Peer:
    """What is tested, not started: our driver, and the official one, which is the oracle of the suite itself."""
    return official_peer() if request.param == "java" else AerowirePeer(short_timers())


@pytest.fixture(scope="module")
def driver(kind: Peer) -> Iterator[Peer]:
    """One driver for all tests of the module."""
    with started(kind.variant({})) as peer:
        yield peer


@pytest.fixture(scope="module")
def verdicts(kind: Peer, request: pytest.FixtureRequest) -> dict[str, Result]:
    """What every case that is tested came to, all of them run on some drivers at once."""
    of_module = [item for item in request.session.items if isinstance(item, pytest.Function) and item.module is request.module]
    params = [item.callspec.params["case"] for item in of_module if hasattr(item, "callspec") and "case" in item.callspec.params]
    tested = {each.id for each in params if isinstance(each, Case)}
    cases = [case for case in all_cases() if case.id in tested]
    return {result.case.id: result for result in run_in_parallel(kind, cases, seed=SEED, jobs=JOBS[kind.name])}


def official_peer() -> Peer:
    """The jar's driver; without Java or the jar its tests are skipped with the reason."""
    if shutil.which("java") is None:
        pytest.skip("no java command")
    find_jar(AERON_ALL)  # fetched where Maven is
    try:
        return JavaPeer(short_timers())
    except PeerError as error:
        pytest.skip(str(error))


@pytest.mark.timeout(900)  # the first one waits for all
@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_driver_keeps_the_rule(verdicts: dict[str, Result], driver: Peer, case: Case, seed: int) -> None:
    result = verdicts[case.id]
    for attempt in range(1, ATTEMPTS):
        is_starved = result.verdict is Verdict.FAIL and any(note.startswith(MACHINE_LOADED) for note in result.notes)
        if result.verdict is not Verdict.INCONCLUSIVE and not is_starved:
            break
        result = Runner(driver, seed=seed + attempt).run([case])[0]
    is_due = not is_older(driver.release, case.since)
    is_excused = not is_due or MACHINE_LACKS in result.notes
    is_fine = result.verdict is Verdict.PASS or (result.verdict is Verdict.UNSUPPORTED and is_excused)
    assert is_fine, f"{result.verdict.value}: expected {result.expected}, actual {result.actual}; {result.notes}"


@pytest.mark.parametrize(
    ("name", "impairment"), [*((name, "") for name in GOLDEN), *((name, text) for name in TYPICAL for text in IMPAIRMENTS[1:])]
)
def test_driver_delivers_a_golden_capture(driver: Peer, name: str, impairment: str) -> None:
    outcome = replay_file(driver, CAPTURES / f"{name}.pcap", impairment=Impairment.parse(impairment))
    assert outcome.is_pass, outcome.to_dict()
    assert all(stream.frames_expected for stream in outcome.streams)
    assert impairment or all(stream.frames_delivered == stream.frames_expected for stream in outcome.streams)
    if "flip" in impairment:
        counted = [stream.invalid_counted for stream in outcome.streams]
        assert sum(stream.datagrams_damaged for stream in outcome.streams) > 0
        assert is_older(driver.release, SINCE) or counted == [stream.datagrams_damaged for stream in outcome.streams]


@pytest.mark.parametrize("name", GOLDEN)
def test_driver_delivers_a_capture_at_its_own_pace(driver: Peer, name: str) -> None:
    outcome = replay_file(driver, CAPTURES / f"{name}.pcap", is_paced=True)
    assert outcome.is_pass, outcome.to_dict()


@pytest.mark.parametrize(
    ("name", "receivers"), [("unicast_simple", [1]), ("multicast_two_subs", [2]), ("mdc_dynamic_fc_min", [2]), ("mds_manual", [1, 1])]
)
def test_every_receiver_of_a_captured_stream_gets_it(driver: Peer, name: str, receivers: list[int]) -> None:
    outcome = replay_file(driver, CAPTURES / f"{name}.pcap")
    assert [stream.receivers for stream in outcome.streams] == receivers
    assert sum(stream.messages_delivered for stream in outcome.streams) == {"mdc_dynamic_fc_min": 80}.get(name, 20 * sum(receivers))


@pytest.mark.parametrize(
    ("name", "impairment"), [*((name, "") for name in GOLDEN), *((name, text) for name in TYPICAL for text in IMPAIRMENTS[1:])]
)
def test_driver_sends_a_golden_capture(driver: Peer, name: str, impairment: str) -> None:
    outcome = replay_file(driver, CAPTURES / f"{name}.pcap", role="receiver", impairment=Impairment.parse(impairment))
    assert outcome.is_pass, outcome.to_dict()
    assert all(stream.frames_delivered == stream.frames_expected > 0 for stream in outcome.streams)
    assert impairment or not any(stream.naks or stream.frames_resent for stream in outcome.streams)


def test_capture_without_data_is_said_to_be_one(driver: Peer) -> None:
    with pytest.raises(ReplayError, match="no stream with a SETUP and data among 13 UDP datagrams"):
        replay_file(driver, CAPTURES / "spies_simulate_connection.pcap")


@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.soak)])
def test_driver_bears_malformed_datagrams(driver: Peer, count: int, seed: int) -> None:
    outcome = fuzz(driver, count=count, seed=seed)
    if is_older(driver.release, SINCE):  # as the official driver that Maven Central has for this Java
        assert outcome.verdict is Verdict.UNSUPPORTED
        assert outcome.sent == 0
        return
    assert outcome.is_pass, outcome.to_dict()
    assert outcome.sent == count
    assert outcome.invalid_counted == outcome.invalid_expected > count * 2 // 3
