"""Response channels: requests of one implementation answered by the other, each client on a session of its own."""

from __future__ import annotations

import pytest

from tests.interop.harness import Driver, Side
from tests.interop.scenarios import LIMIT_S, STREAM, End, Scenario, Stream, counters, other
from tests.support.processes import Process, free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# Over IPC whoever takes requests would hear answers on the same stream as well.
RESPONSE_STREAM = STREAM + 1
BOTH = pytest.mark.parametrize("answering", ["official", "aerowire"])


class Server:
    """A responder, and the channels to ask it and to hear its answers."""

    def __init__(self, scenario: Scenario, side: Side, driver: Driver, *, ipc: bool = False) -> None:
        self.driver = driver
        self.requests = "aeron:ipc?alias=requests" if ipc else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        self.responses = "aeron:ipc?control-mode=response" if ipc else f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
        options = {
            "channel": self.requests,
            "response": self.responses,
            "stream": STREAM,
            "response_stream": RESPONSE_STREAM,
            "timeout": int(LIMIT_S),
        }
        self.peer: Process = scenario.bench.peer(side, "responder", self.driver, **options)
        self.peer.event("ready", LIMIT_S)

    def ask(self, scenario: Scenario, end: End) -> Stream:
        """Start a client that publishes requests and takes their answers."""
        stream = scenario.stream(stream=RESPONSE_STREAM)
        stream.subscribe(end, self.responses)
        stream.stream = STREAM
        stream.publish(end, f"{self.requests}|response-correlation-id={stream.registration_id}")
        return stream

    def finish(self) -> None:
        assert self.peer.finish() == 0, self.peer.said()


@BOTH
def test_requests_are_answered(scenario: Scenario, answering: Side) -> None:
    scenario.feature("Response channel, one client")
    server = Server(scenario, answering, scenario.driver(answering))
    stream = server.ask(scenario, End(other(answering), scenario.driver(other(answering))))
    stream.compare()
    scenario.prove(server.driver, "snd-pos", at_least=stream.term_length)
    assert [label for label in counters(server.driver, "snd-pos") if "control-mode=response" in label]
    stream.finish()
    server.finish()
    scenario.finish()


@BOTH
def test_each_client_gets_its_own_answers(scenario: Scenario, answering: Side) -> None:
    scenario.feature("Response channel, two clients")
    server = Server(scenario, answering, scenario.driver(answering))
    streams = [server.ask(scenario, End(side, scenario.driver(side))) for side in (other(answering), answering)]
    for stream in streams:
        stream.compare()
    assert len(counters(server.driver, "snd-pos")) == 2
    scenario.prove(server.driver, "snd-pos", at_least=streams[0].term_length)
    for stream in streams:
        stream.finish()
    server.finish()
    scenario.finish()


@BOTH
def test_requests_are_answered_over_ipc(scenario: Scenario, answering: Side) -> None:
    scenario.feature("Response channel over IPC, one driver, two clients")
    driver = scenario.driver(other(answering))
    server = Server(scenario, answering, driver, ipc=True)
    streams = [server.ask(scenario, End(side, driver)) for side in (other(answering), answering)]
    for stream in streams:
        stream.compare()
    answers = [label for label in counters(driver, "pub-pos") if "control-mode=response" in label]
    assert len(answers) == 2, answers
    scenario.prove(driver, "pub-pos", at_least=streams[0].term_length)
    for stream in streams:
        stream.finish()
    server.finish()
    scenario.finish()
