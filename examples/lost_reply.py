"""Find a lost reply by a seed: a service in simulated worlds, with an asker that waits for ever and one that asks again.

    python examples/lost_reply.py [SEEDS]
    pytest examples/lost_reply.py --simulation-seeds 0-99

The streams repair what the network loses, but the server offers each answer once. While its stream to the asker is not connected, at the
start or after some seconds without a network, the answer is lost. Nine runs of ten show nothing of it. Each seed is a world of its own:
other packets are lost, and the network falls apart at another time.
"""

from __future__ import annotations

import random
import sys

from aerowire.client import ExclusivePublication, Header, Publication, Subscription
from aerowire.simulation import MS, NEVER_NS, SECOND, HostClock, Partition, SimulatedHost, SimulatedWorld

SERVER, ASKER = "10.0.0.1", "10.0.0.2"
REQUEST_CHANNEL, REPLY_CHANNEL = f"aeron:udp?endpoint={SERVER}:40101", f"aeron:udp?endpoint={ASKER}:40102"
REQUESTS, REPLIES = 1001, 1002
FRAGMENT_LIMIT = 10
NUMBER_LENGTH = 8
COUNT = 20
PAUSE_NS = 100 * MS  # between a reply and the next request
RETRY_NS = 1 * SECOND
LIMIT_NS = 60 * SECOND  # several times what twenty answers need, and the network to come back


class Server:
    """Answers every request in capitals. It may be asked the same twice: the answer is the same."""

    def __init__(self, requests: Subscription, replies: Publication) -> None:
        self._requests = requests
        self._replies = replies

    def work(self) -> int:
        return self._requests.poll(self._on_request, FRAGMENT_LIMIT)

    def _on_request(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        request = bytes(buffer[offset : offset + length])
        # The mistake: where the stream is not connected, or has no room, the answer is lost.
        self._replies.offer(request[:NUMBER_LENGTH] + request[NUMBER_LENGTH:].upper())


class Asker:
    """Asks one question after the other. With `retry_ns` it asks again when there was no answer for so long; without, it waits for ever."""

    def __init__(self, requests: ExclusivePublication, replies: Subscription, clock: HostClock, *, retry_ns: int | None) -> None:
        self.answers: list[str] = []
        self._requests = requests
        self._replies = replies
        self._clock = clock
        self._retry_ns = retry_ns
        self._due_ns = 0

    def work(self) -> int:
        done = self._replies.poll(self._on_reply, FRAGMENT_LIMIT)
        if len(self.answers) < COUNT and self._clock.now_ns() >= self._due_ns:
            done += self._ask(len(self.answers))
        return done

    def next_deadline_ns(self) -> int:
        return self._due_ns if len(self.answers) < COUNT else NEVER_NS

    def _ask(self, number: int) -> int:
        now_ns = self._clock.now_ns()
        question = number.to_bytes(NUMBER_LENGTH, "little") + b"question %d" % number
        if not self._replies.is_connected or self._requests.offer(question) < 0:
            self._due_ns = now_ns + MS
            return 0
        self._due_ns = NEVER_NS if self._retry_ns is None else now_ns + self._retry_ns
        return 1

    def _on_reply(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        reply = bytes(buffer[offset : offset + length])
        if int.from_bytes(reply[:NUMBER_LENGTH], "little") == len(self.answers):  # else one that came twice
            self.answers.append(reply[NUMBER_LENGTH:].decode())
            self._due_ns = self._clock.now_ns() + PAUSE_NS


def start_server(host: SimulatedHost) -> None:
    client = host.connect()
    requests = client.complete(client.aeron.async_add_subscription(REQUEST_CHANNEL, REQUESTS))
    replies = client.complete(client.aeron.async_add_publication(REPLY_CHANNEL, REPLIES))
    client.start(Server(requests, replies).work, lambda: NEVER_NS)


def start_asker(host: SimulatedHost, retry_ns: int | None) -> Asker:
    client = host.connect()
    replies = client.complete(client.aeron.async_add_subscription(REPLY_CHANNEL, REPLIES))
    requests = client.complete(client.aeron.async_add_exclusive_publication(REQUEST_CHANNEL, REQUESTS))
    asker = Asker(requests, replies, host.clock, retry_ns=retry_ns)
    client.start(asker.work, asker.next_deadline_ns)
    return asker


def ask_all(world: SimulatedWorld, seed: int, *, retry_ns: int | None) -> None:
    """Ask all questions over a network that loses packets and falls apart once. Raises TimeoutError for the first without an answer."""
    draws = random.Random(seed)
    server, asker = world.add_host(SERVER), world.add_host(ASKER)
    world.network.set_faults(loss=0.02)
    start_server(server)
    asking = start_asker(asker, retry_ns)
    world.run(draws.randrange(5 * SECOND))
    world.network.partition(Partition((SERVER,), (ASKER,)))
    world.run(draws.randrange(6 * SECOND))
    world.network.heal()
    if not world.run(LIMIT_NS, until=lambda: len(asking.answers) == COUNT):
        raise TimeoutError(f"question {len(asking.answers)} has no answer")


def test_all_questions_are_answered(simulated_world: SimulatedWorld, simulation_seed: int) -> None:
    ask_all(simulated_world, simulation_seed, retry_ns=RETRY_NS)


def test_without_asking_again(simulated_world: SimulatedWorld, simulation_seed: int) -> None:
    ask_all(simulated_world, simulation_seed, retry_ns=None)


def problem_of(seed: int, *, retry_ns: int | None) -> str | None:
    """Return what goes wrong in the world of a seed, None for nothing."""
    with SimulatedWorld(seed=seed) as world:
        try:
            ask_all(world, seed, retry_ns=retry_ns)
        except TimeoutError as error:
            return f"{error}, digest {world.trace_hash:016x}"
    return None


def main(seeds: int) -> None:
    for seed in range(seeds):
        if (problem := problem_of(seed, retry_ns=None)) is not None:
            break
    else:
        sys.exit(f"{seeds} seeds lose no reply")
    print(f"without asking again, seed {seed}: {problem}")
    print(f"the same seed again:        {seed}: {problem_of(seed, retry_ns=None)}")
    failed = [seed for seed in range(seeds) if problem_of(seed, retry_ns=RETRY_NS) is not None]
    print(f"asking again: {seeds - len(failed)} of {seeds} seeds have all answers")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
