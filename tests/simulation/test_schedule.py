"""Turns of processes: who has one, in which order, and when there is one again; with literal times and stand-ins for work."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest

from aerowire.base.errors import ClosedError, ConfigurationError
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.process import Process, ProcessState
from aerowire.simulation.world import START_NS, SimulatedWorld

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
NEVER = (1 << 63) - 1


def never() -> int:
    return NEVER


class Worker:
    """Has some work left, and a deadline; notes when it had turns."""

    def __init__(self, world: SimulatedWorld, left: int = 0, interval_ns: int = 0) -> None:
        self.left = left
        self.turns: list[int] = []
        self.due_ns = START_NS + interval_ns if interval_ns else NEVER
        self._interval_ns = interval_ns
        self._clock = world.clock

    def work(self) -> int:
        now_ns = self._clock.now_ns()
        self.turns.append(now_ns - START_NS)
        if now_ns >= self.due_ns:
            self.due_ns += self._interval_ns
            return 1
        self.left -= self.left > 0
        return int(self.left > 0)

    def deadline_ns(self) -> int:
        return self.due_ns


def pass_time(world: SimulatedWorld, duration_ns: int) -> None:
    """Let time pass in one step and processes run, without the turn that run() gives to each."""
    world.clock.advance(duration_ns)
    world._schedule.settle()


@pytest.fixture
def world() -> SimulatedWorld:
    return SimulatedWorld(seed=1)


def hosts(world: SimulatedWorld, count: int = 2) -> list[SimulatedHost]:
    return [world.add_empty_host(f"10.0.0.{number}") for number in range(1, count + 1)]


def idle(host: SimulatedHost, name: str = "idle") -> Process:
    return host.add_process(lambda: 0, never, name=name)


# -- Who has a turn ----------------------------------------------------------------------------------------------------


def test_a_process_with_nothing_due_has_no_turn(world: SimulatedWorld) -> None:
    first, second = hosts(world)
    worker = Worker(world, interval_ns=10 * MS)
    busy, quiet = first.add_process(worker.work, worker.deadline_ns), idle(second)
    world.settle()
    turns = quiet.turns
    for _ in range(10):
        pass_time(world, 10 * MS)
    assert quiet.turns == turns
    assert busy.turns > 20
    # The caller may have changed anything between two runs.
    world.settle()
    assert quiet.turns > turns


def test_processes_of_a_host_look_at_what_others_did_there(world: SimulatedWorld) -> None:
    first, second = hosts(world)
    worker = Worker(world, interval_ns=10 * MS)
    neighbour, stranger = idle(first), idle(second)
    first.add_process(worker.work, worker.deadline_ns)
    world.settle()
    turns = neighbour.turns, stranger.turns
    for _ in range(5):
        pass_time(world, 10 * MS)
    assert neighbour.turns - turns[0] >= 5
    assert stranger.turns == turns[1]


def test_a_turn_without_work_is_followed_by_one_look_of_all_that_share_the_memory(world: SimulatedWorld) -> None:
    (host,) = hosts(world, 1)
    woken, other = idle(host), idle(host)
    world.settle()
    turns = woken.turns, other.turns
    woken.wake()
    pass_time(world, 1)
    assert (woken.turns - turns[0], other.turns - turns[1]) == (2, 1)


def test_a_process_that_does_not_look_has_turns_after_work_of_others_alone(world: SimulatedWorld) -> None:
    (host,) = hosts(world, 1)
    worker = Worker(world)
    busy, deaf = host.add_process(worker.work, never), host.new_process("deaf")
    deaf.start(lambda: 0, never, looks=False)
    world.settle()
    turns = deaf.turns
    busy.wake()
    pass_time(world, 1)
    assert deaf.turns == turns
    worker.left = 2
    busy.wake()
    pass_time(world, 1)
    assert deaf.turns == turns + 1


def test_a_datagram_gives_a_turn_to_the_process_of_its_socket(world: SimulatedWorld) -> None:
    first, second = hosts(world)
    receiver = first.new_process("receiver")
    sender, bystander = idle(second), idle(second, "bystander")
    socket = world.network.open_port(("10.0.0.1", 7000), host="10.0.0.1", inbox=receiver.inbox)
    taken: list[tuple[int, bytes]] = []

    def receive() -> int:
        batch = socket.receive_datagrams()
        taken.extend((world.clock.now_ns() - START_NS, payload) for payload, _, _ in batch)
        return len(batch)

    receiver.start(receive, never)
    world.settle()
    turns = sender.turns, bystander.turns
    world.network.open_port(("10.0.0.2", 7000)).send_datagrams([(b"hello", ("10.0.0.1", 7000))])
    pass_time(world, 9_999)
    assert taken == []
    pass_time(world, 1)
    assert taken == [(10 * US, b"hello")]
    assert (sender.turns, bystander.turns) == turns


def test_a_process_looks_again_for_a_datagram_that_it_left_and_after_it_has_read_it(world: SimulatedWorld) -> None:
    first, second = hosts(world)
    process = first.new_process("reader")
    socket = world.network.open_port(("10.0.0.1", 7000), inbox=process.inbox)
    turns: list[tuple[int, int]] = []

    def work() -> int:
        now_ns = world.clock.now_ns() - START_NS
        turns.append((now_ns, len(socket.receive_datagrams()) if now_ns >= 100 * US else 0))
        return 0  # it does not tell

    process.start(work, never)
    world.network.open_port((second.address, 7000)).send_datagrams([(b"hello", ("10.0.0.1", 7000))])
    world.run(MS)
    # What it has read may have changed something that is done in the next cycle.
    assert [turn for turn in turns if turn[0] > 0] == [(10 * US, 0), (10 * US, 0), (60 * US, 0), (160 * US, 1), (160 * US, 0)]


def test_a_process_that_tells_no_deadline_has_a_turn_whenever_time_has_passed(world: SimulatedWorld) -> None:
    first, second = hosts(world)
    worker, polled = Worker(world, interval_ns=10 * MS), Worker(world)
    first.add_process(worker.work, worker.deadline_ns)
    second.add_process(polled.work)
    world.run(25 * MS)
    assert sorted(set(polled.turns)) == [0, 10 * MS, 20 * MS, 25 * MS]


def test_an_actor_of_the_world_sees_the_memory_of_every_host(world: SimulatedWorld) -> None:
    first, _ = hosts(world)
    worker, seeing = Worker(world, interval_ns=10 * MS), Worker(world)
    first.add_process(worker.work, worker.deadline_ns)
    world.add_actor(seeing.work, seeing.deadline_ns)
    world.run(25 * MS)
    assert sorted(set(seeing.turns)) == [0, 10 * MS, 20 * MS]


def test_a_deadline_of_an_actor_counts(world: SimulatedWorld) -> None:
    worker = Worker(world, interval_ns=7 * MS)
    world.add_actor(worker.work, worker.deadline_ns)
    world.run(20 * MS)
    assert sorted(set(worker.turns)) == [0, 7 * MS, 14 * MS]
    assert world.steps == 3


def test_a_deadline_is_by_the_clock_of_the_host(world: SimulatedWorld) -> None:
    (host,) = hosts(world, 1)
    host.clock.restart(500)
    host.clock.set_drift(100_000)  # a tenth too fast
    turns: list[tuple[int, int]] = []
    due_ns = 500 + 11 * MS

    def work() -> int:
        nonlocal due_ns
        if host.clock.now_ns() < due_ns:
            return 0
        turns.append((world.clock.now_ns() - START_NS, host.clock.now_ns()))
        due_ns += 11 * MS
        return 1

    host.add_process(work, lambda: due_ns)
    world.run(25 * MS)
    assert turns == [(10 * MS, 500 + 11 * MS), (20 * MS, 500 + 22 * MS)]


def test_a_deadline_that_stays_past_is_looked_at_more_and_more_rarely(world: SimulatedWorld) -> None:
    times: list[int] = []

    def work() -> int:
        times.append(world.clock.now_ns() - START_NS)
        return 0

    world.add_actor(work, lambda: START_NS)
    world.run(40 * MS)
    looks = sorted(set(times))
    assert looks[:6] == [0, 50 * US, 150 * US, 350 * US, 750 * US, 1_550 * US]
    assert max(later - earlier for earlier, later in itertools.pairwise(looks)) == 10 * MS


def test_work_without_end_is_an_error_that_names_the_process(world: SimulatedWorld) -> None:
    (host,) = hosts(world, 1)
    host.add_process(lambda: 1, never, name="restless")
    with pytest.raises(RuntimeError, match=r"no rest after 1000 cycles at 1000000000 ns: Process\('restless at 10.0.0.1', running\)"):
        world.settle()


# -- The order ---------------------------------------------------------------------------------------------------------


def order(seed: int, count: int = 3, work: int = 4) -> list[str]:
    """Return who had a turn, one after the other, of processes that have work for some turns each."""
    world = SimulatedWorld(seed=seed)
    turns: list[str] = []

    def worker(name: str) -> Callable[[], int]:
        left = work

        def run() -> int:
            nonlocal left
            turns.append(name)
            left -= left > 0
            return left

        return run

    for host in hosts(world, count):
        host.add_process(worker(host.address[-1]), never)
    world.settle()
    return turns


def test_who_runs_next_is_drawn_from_the_seed() -> None:
    orders = {tuple(order(seed)) for seed in range(200)}
    assert len(orders) > 190
    assert order(7) == order(7)
    firsts = Counter(each[0] for each in orders)
    assert set(firsts) == {"1", "2", "3"}
    assert all(40 < count < 95 for count in firsts.values())


def test_every_process_gets_all_its_turns_in_every_order() -> None:
    for seed in range(20):
        # The fourth finds no more.
        assert Counter(order(seed)) == {"1": 4, "2": 4, "3": 4}


def test_a_single_process_draws_nothing() -> None:
    assert order(1, count=1) == order(2, count=1)


# -- Paused, slowed and killed -----------------------------------------------------------------------------------------


def test_a_paused_process_has_no_turn_while_its_clock_goes_on(world: SimulatedWorld) -> None:
    (host,) = hosts(world, 1)
    worker = Worker(world, interval_ns=10 * MS)
    process = host.add_process(worker.work, worker.deadline_ns)
    world.run(15 * MS)
    process.pause()
    assert process.state is ProcessState.PAUSED
    before, clock = len(worker.turns), host.clock.now_ns()
    world.run(SECOND)
    assert len(worker.turns) == before
    assert host.clock.now_ns() - clock == SECOND
    process.resume()
    world.settle()
    assert set(worker.turns[before:]) == {1_015 * MS}


def test_datagrams_fill_the_sockets_of_a_paused_process(world: SimulatedWorld) -> None:
    first, _ = hosts(world)
    process = idle(first)
    world.network.open_port(("10.0.0.1", 7000), inbox=process.inbox, receive_buffer_length=2_000)
    process.pause()
    world.network.open_port(("10.0.0.2", 7000)).send_datagrams([(bytes(1_000), ("10.0.0.1", 7000))] * 3)
    world.run(SECOND)
    assert (process.inbox.arrivals, process.inbox.unread) == (2, 2)


def test_a_slow_process_takes_its_time_for_each_turn_with_work(world: SimulatedWorld) -> None:
    (host,) = hosts(world, 1)
    worker = Worker(world, left=4)
    process = host.add_process(worker.work, worker.deadline_ns)
    process.slow(2 * MS)
    world.run(20 * MS)
    assert sorted(set(worker.turns)) == [0, 2 * MS, 4 * MS, 6 * MS]
    process.slow(0)
    worker.left, worker.turns = 3, []
    world.run(MS)
    assert set(worker.turns) == {20 * MS}


def test_a_process_that_is_sped_up_does_not_wait_for_its_slow_turn(world: SimulatedWorld) -> None:
    (host,) = hosts(world, 1)
    worker = Worker(world, left=3)
    process = host.add_process(worker.work, worker.deadline_ns)
    process.slow(SECOND)
    world.run(MS)
    process.slow(0)
    world.run(MS)
    assert sorted(set(worker.turns)) == [0, MS]


def test_a_killed_process_has_no_turn_and_no_sockets(world: SimulatedWorld) -> None:
    (host,) = hosts(world, 1)
    process = idle(host)
    socket = world.network.open_port(("10.0.0.1", 7000), inbox=process.inbox)
    process.add_socket(socket)
    forgotten: list[str] = []
    process.on_kill(lambda: forgotten.append("forgotten"))
    world.settle()
    turns = process.turns
    process.kill()
    process.kill()
    world.run(MS)
    assert (process.state, process.turns, socket.is_closed, forgotten) == (ProcessState.ENDED, turns, True, ["forgotten"])
    assert host.processes == ()


def test_a_process_may_end_itself_and_its_host(world: SimulatedWorld) -> None:
    first, second = hosts(world)

    def fuse() -> int:
        first.lose_power()
        return 1

    bomb, victim, witness = first.add_process(fuse, never), idle(first), idle(second)
    world.settle()
    assert (bomb.turns, bomb.state, victim.state, witness.state) == (1, ProcessState.ENDED, ProcessState.ENDED, ProcessState.RUNNING)
    # Their numbers in the schedule are free for others.
    first.restart()
    worker = Worker(world)
    again = first.add_process(worker.work, worker.deadline_ns)
    world.settle()
    assert again.turns == len(worker.turns) > 0


@pytest.mark.parametrize("action", ["pause", "resume", "wake"])
def test_what_has_ended_cannot_be_changed(world: SimulatedWorld, action: str) -> None:
    process = idle(hosts(world, 1)[0])
    process.kill()
    with pytest.raises(ClosedError, match="the process is in the wrong state; at idle at "):
        getattr(process, action)()


def test_a_turn_takes_no_negative_time(world: SimulatedWorld) -> None:
    process = idle(hosts(world, 1)[0])
    with pytest.raises(ConfigurationError, match="turn_ns is out of range"):
        process.slow(-1)


def test_a_process_that_does_not_run_cannot_be_resumed(world: SimulatedWorld) -> None:
    process = idle(hosts(world, 1)[0])
    with pytest.raises(ClosedError, match="expected paused; got running"):
        process.resume()
    process.pause()
    with pytest.raises(ClosedError, match="expected running; got paused"):
        process.pause()
