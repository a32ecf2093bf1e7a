"""How a stream ends: at its end, revoked, without a word, and how long it lingers; and what its sender writes on what it sends."""

from __future__ import annotations

import pytest

from aerowire.codecs.flyweights.transport import DataHeaderDecoder
from aerowire.logbuffer.log import LogBuffers
from tests.interop.harness import Side
from tests.interop.scenarios import End, Scenario, Stream, ask, counters, order, other, wait_until
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# Longer than anything is waited for: a publication that goes does not linger.
LINGERING = {"aeron.publication.linger.timeout": "600s"}
BOTH = pytest.mark.parametrize("publishing", ["official", "aerowire"])


class Run:
    """A stream that was sent and received whole; its publisher still holds it."""

    def __init__(self, scenario: Scenario, publishing: Side, parameters: str = "", **options: object) -> None:
        liveness = {"aeron.image.liveness.timeout": "4s"}
        self.sender = End(publishing, scenario.driver(publishing, LINGERING))
        self.receiver = End(other(publishing), scenario.driver(other(publishing), liveness))
        self.stream: Stream = scenario.stream()
        endpoint = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        self.subscriber = self.stream.subscribe(self.receiver, endpoint)
        self.publisher = self.stream.publish(self.sender, f"{endpoint}{parameters}", **options)
        self.stream.compare()

    def wait_for_the_end(self) -> dict[str, int]:
        """Wait until the subscriber has lost its image; return what it has seen of it."""
        wait_until(lambda: ask(self.subscriber, "state")["images"] == 0, "the image has gone")
        told = ask(self.subscriber, "state")
        return {name: told[name] for name in ("gone", "ended", "revoked")}


@BOTH
def test_a_closed_stream_ends_and_its_linger_is_cut_short(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("End of stream, linger cut short by its confirmation")
    run = Run(scenario, publishing, "|linger=600s")
    order(run.publisher, "close")
    assert run.wait_for_the_end() == {"gone": 1, "ended": 1, "revoked": 0}
    wait_until(lambda: not counters(run.sender.driver, "snd-pos"), "the publication has gone")
    scenario.observed("end of stream at the subscriber, no lingering publication")
    run.stream.finish()
    scenario.finish()


@BOTH
def test_a_stream_without_an_end_goes_silent(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("eos=false, linger=0")
    run = Run(scenario, publishing, "|eos=false|linger=0")
    order(run.publisher, "close")
    wait_until(lambda: not counters(run.sender.driver, "snd-pos"), "the publication has gone")
    assert run.wait_for_the_end() == {"gone": 1, "ended": 0, "revoked": 0}
    scenario.observed("image gone by silence, not at its end")
    run.stream.finish()
    scenario.finish()


@BOTH
def test_a_revoked_stream_ends_at_once(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Revoked publication")
    run = Run(scenario, publishing, exclusive="true")
    order(run.publisher, "revoke")
    assert run.wait_for_the_end() == {"gone": 1, "ended": 1, "revoked": 1}
    # A driver counts at its next timer, when its sender may long have told the receiver.
    wait_until(lambda: max(counters(run.sender.driver, "Publications Revoked").values()) > 0, "the publication counts as revoked")
    scenario.prove(run.sender.driver, "Publications Revoked")
    scenario.prove(run.receiver.driver, "Publication Images Revoked")
    run.stream.finish()
    scenario.finish()


@BOTH
def test_messages_carry_the_time_they_were_sent(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("channel-snd-ts-offset=reserved")
    run = Run(scenario, publishing, "|channel-snd-ts-offset=reserved")
    (log,) = (run.receiver.driver.directory / "images").iterdir()
    with LogBuffers.map(log, writable=False) as image:
        stamps = [DataHeaderDecoder(image.term_view(index), 0).reserved_value for index in range(3)]
    # In the years 2020 to 2100.
    assert any(1_577_836_800_000_000_000 < stamp < 4_102_444_800_000_000_000 for stamp in stamps), stamps
    scenario.observed("send times in the image")
    run.stream.finish()
    scenario.finish()
