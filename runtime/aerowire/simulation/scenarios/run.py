"""The run of a plan: makes its world, lets its misfortunes happen, and has checkers look at every step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from functools import partial
from heapq import heappop, heappush
from io import StringIO
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from aerowire.codecs.flyweights.transport import TERM_LENGTH_MIN
from aerowire.simulation.process import ProcessState
from aerowire.simulation.scenarios.application import Application
from aerowire.simulation.scenarios.belongings import Belongings
from aerowire.simulation.scenarios.checkers import CHECKERS, RECOVERY_NS, Checker
from aerowire.simulation.scenarios.churn import Churner
from aerowire.simulation.scenarios.misfortunes import Misfortunes
from aerowire.simulation.scenarios.plan import MS, REUSE_TIMEOUT_MS, SECOND, Misfortune, Plan, StreamPlan
from aerowire.simulation.scenarios.plan_run import PlanRun
from aerowire.simulation.scenarios.traffic import Publisher, PublisherLife, Subscriber, address_of

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost

ApplicationT = TypeVar("ApplicationT", bound=Application)
OPTIONS: dict[str, Any] = {
    "environ": {},
    "term_buffer_length": TERM_LENGTH_MIN,
    "ipc_term_buffer_length": TERM_LENGTH_MIN,
    "counters_free_to_reuse_timeout_ns": REUSE_TIMEOUT_MS * MS,
    "client_liveness_timeout_ns": "5s",
    "image_liveness_timeout_ns": "3s",
    "publication_connection_timeout_ns": "3s",
    "publication_linger_timeout_ns": "1s",
    "publication_unblock_timeout_ns": "6s",
    "timer_interval_ns": "100ms",
    # What is missing is asked for again each 20 ms: by default each 100 us, which fills a network whose packets take long.
    "nak_unicast_delay_ns": "200us",
}
# After it drivers have given up the clients that were killed. Until then a subscription of theirs stops those beside it on the same image.
FORGETTING_NS = 6 * SECOND
# How often ended applications are started again.
SUPERVISION_NS = 500 * MS
# After the end of a pause everything that it has led to is over: a client that was given up notices when it looks for its driver next.
DISTURBANCE_NS = 10 * SECOND
# After it each side of a stream has noticed that the other one has gone.
PARTED_NS = 10 * SECOND
# After it a driver has noticed that a client has gone, and let go of all that was its own.
END_NS = 30 * SECOND


class Run(PlanRun[Plan]):
    """One run of a plan. Everything follows from the plan."""

    def __init__(
        self,
        plan: Plan,
        *,
        checkers: Sequence[type[Checker]] = CHECKERS,
        stop_at: int | None = None,
        on_event: Callable[[str], None] | None = None,
    ) -> None:
        """`checkers` look at every step; `stop_at` and `on_event` are those of PlanRun."""
        super().__init__(plan, stop_at=stop_at, on_event=on_event)
        self._checkers = [checker() for checker in checkers]
        self._belongings: dict[str, Belongings] = {}  # of each host's driver, when it has just started
        self._publishers: dict[int, Publisher] = {}
        self._subscribers: dict[tuple[int, int], Subscriber] = {}  # by stream and place among its subscribers
        self._churners: dict[int, Churner] = {}  # by host
        self._lives: dict[int, PublisherLife] = {}  # by incarnation
        self._misfortunes = Misfortunes(self.world, self._start_driver)
        self._messages = 0
        self._received: dict[tuple[int, int], int] = defaultdict(int)
        self._received_before: dict[tuple[int, int], int] | None = None
        self._planned: list[tuple[int, int, Callable[[], object]]] = []  # by time, then in the order of planning
        self._orders = count()
        self._is_supervised = True
        self._publishers_end = True
        self._digest = 0

    # -- What checkers see ---------------------------------------------------------------------------------------------

    def drivers(self) -> list[SimulatedHost]:
        """Return the hosts whose drivers live."""
        return [host for host in self.world.hosts if host.has_power and host.has_driver]

    def left(self, host: SimulatedHost) -> dict[str, list[str]]:
        """Return the counters, files, ports, mappings and locks that are there besides those of a driver that has just started."""
        return self._belongings[host.address].left()

    def publishers(self) -> list[Publisher]:
        """Return the publishers, the last one of each stream."""
        return list(self._publishers.values())

    def subscribers(self) -> list[Subscriber]:
        """Return the subscribers, the last one of each place."""
        return list(self._subscribers.values())

    def subscribers_of(self, stream: StreamPlan) -> list[Subscriber]:
        """Return the subscribers of a stream, the last one of each place."""
        return [subscriber for (number, _), subscriber in self._subscribers.items() if number == stream.number]

    def publisher_of(self, stream: StreamPlan) -> Publisher:
        """Return the last publisher of a stream."""
        return self._publishers[stream.number]

    def life_of(self, incarnation: int) -> PublisherLife:
        """Return what is known of a publisher, which may have ended long ago."""
        return self._lives[incarnation]

    @property
    def is_untouched(self) -> bool:
        """Whether no misfortune has happened yet, and applications that end are started again."""
        return self._is_supervised and not self._misfortunes.have_begun

    def was_disturbed(self, application: Application) -> bool:
        """Return whether an application or its driver was paused or slow a short while ago, or its driver was killed."""
        driver = application.driver_process
        if driver.state is ProcessState.ENDED:
            return True
        since_ns = self.world.clock.now_ns() - DISTURBANCE_NS
        process_ids = application.client.process_id, driver.identity.own_id()
        return any(self._misfortunes.was_held_up(application.host, process_id, since_ns) for process_id in process_ids)

    def host_of(self, stream: int, number: int) -> str:
        """Return the address of a stream's subscriber."""
        return self._subscribers[stream, number].host.address

    def received_since_recovery(self) -> dict[tuple[int, int], int]:
        """Return how many messages of each stream have come to each of its subscribers, by place, since all faults ended."""
        before = self._received_before or {}
        return {key: self._received[key] - before.get(key, 0) for key in self._subscribers}

    def what_it_waits_for(self, stream: int, number: int) -> str:
        """Return what is known of a stream that makes no progress to one of its subscribers."""
        publisher, subscriber = self._publishers[stream], self._subscribers[stream, number]
        return f"publisher: {publisher.what_it_waits_for()}; subscriber: {subscriber.what_it_waits_for()}"

    # -- The run -------------------------------------------------------------------------------------------------------

    def results(self) -> tuple[int, int]:
        """Return the count and the digest of messages."""
        return self._messages, self._digest

    def run_to_end(self) -> None:
        """Run the plan."""
        self._start()
        self._let_happen()
        self._recover()
        self._end()

    def _start(self) -> None:
        self.world.network.set_faults()
        for number in range(self.plan.hosts):
            self._start_driver(self.world.add_empty_host(address_of(number)))
        self.world.network.links.set_all(self.plan.faults)

    def _let_happen(self) -> None:
        for misfortune in self.plan.misfortunes:
            self._plan_for(self.begun_ns + misfortune.at_ns, partial(self._happen, misfortune))
        end_ns = self.begun_ns + self.plan.duration_ns
        while self._planned and self._planned[0][0] < end_ns:
            at_ns, _, happen = heappop(self._planned)
            self._run_until(at_ns)
            happen()
        self._run_until(end_ns)

    def _plan_for(self, at_ns: int, happen: Callable[[], object]) -> None:
        heappush(self._planned, (at_ns, next(self._orders), happen))

    def _recover(self) -> None:
        self.world.events.note("all", "all faults end")
        self._misfortunes.end_all()
        self._received_before = dict(self._received)
        self._publishers_end = False
        deadline_ns = self.world.clock.now_ns() + RECOVERY_NS
        self._run_until(self.world.clock.now_ns() + FORGETTING_NS)
        while self.world.clock.now_ns() < deadline_ns and not self._has_recovered():
            self._run_until(min(self.world.clock.now_ns() + SECOND, deadline_ns))
        for checker in self._checkers:
            checker.on_recovered(self)

    def _has_recovered(self) -> bool:
        applications: list[Application] = [*self._publishers.values(), *self._subscribers.values()]
        return 0 not in self.received_since_recovery().values() and all(application.is_connected for application in applications)

    def _end(self) -> None:
        self._is_supervised = False  # nothing is started any more
        # Of one half of the streams the publishers end first, of the other half the subscribers.
        for publisher in self._publishers.values():
            if publisher.stream.number % 2 == 0:
                publisher.close()
        for subscriber in self._subscribers.values():
            if subscriber.stream.number % 2 == 1:
                subscriber.close()
        self._run_until(self.world.clock.now_ns() + PARTED_NS)
        for checker in self._checkers:
            checker.on_parted(self)
        for application in (*self._publishers.values(), *self._subscribers.values(), *self._churners.values()):
            application.close()
        self._run_until(self.world.clock.now_ns() + END_NS)
        for checker in self._checkers:
            checker.on_end(self)

    def _run_until(self, at_ns: int) -> None:
        while (left := at_ns - self.world.clock.now_ns()) > 0:
            if self._is_supervised:
                self._supervise()
                left = min(left, SUPERVISION_NS)
            self.world.run(left)

    def check_step(self) -> None:
        """Let checkers look at a step."""
        for checker in self._checkers:
            checker.on_step(self)

    # -- Applications --------------------------------------------------------------------------------------------------

    def _supervise(self) -> None:
        """Start the applications that have ended, where there is a driver."""
        for stream in self.plan.streams:
            for place, number in enumerate(stream.subscribers):
                if self._is_vacant(number, subscriber := self._subscribers.get((stream.number, place))):
                    self._discard(subscriber)
                    self._subscribers[stream.number, place] = self._noted(Subscriber(self._host(number), stream, place, self))
            if self._is_vacant(stream.publisher, publisher := self._publishers.get(stream.number)):
                self._discard(publisher)
                life = PublisherLife(len(self._lives) + 1)
                self._lives[life.incarnation] = life
                publisher = Publisher(self._host(stream.publisher), stream, life, self.plan.seed, lambda: self._publishers_end)
                self._publishers[stream.number] = self._noted(publisher)
        for number in self.plan.churners:
            if self._is_vacant(number, churner := self._churners.get(number)):
                self._discard(churner)
                self._churners[number] = self._noted(Churner(self._host(number), next(self._orders), self.plan.seed))

    def _is_vacant(self, number: int, last: Application | None) -> bool:
        """Return whether a host has a driver, and the last application of its kind has ended."""
        host = self._host(number)
        return host.has_power and host.has_driver and (last is None or last.has_ended)

    def _discard(self, application: Application | None) -> None:
        if application is not None:
            for checker in self._checkers:
                checker.on_ended(self, application)
            application.client.close()

    def _noted(self, application: ApplicationT) -> ApplicationT:
        self.world.events.note(application.host.address, f"{application.name} starts")
        return application

    def on_message(self, subscriber: Subscriber, message: bytes) -> None:
        """Count a message."""
        self._messages += 1
        self._received[subscriber.stream.number, subscriber.number] += 1
        self._digest = (self._digest * 1_000_003 ^ int.from_bytes(message[:20], "little")) & 0xFFFF_FFFF_FFFF_FFFF

    def on_end_of_stream(self, subscriber: Subscriber, incarnation: int, number: int) -> None:
        """Let checkers look at an image that is at the end of its stream."""
        for checker in self._checkers:
            checker.on_end_of_stream(self, subscriber, incarnation, number)

    def on_image_gone(self, subscriber: Subscriber, incarnation: int, number: int) -> None:
        """Let checkers look at an image that has gone."""
        for checker in self._checkers:
            checker.on_image_gone(self, subscriber, incarnation, number)

    def _host(self, number: int) -> SimulatedHost:
        return self.world.hosts[number]

    # -- Misfortunes ---------------------------------------------------------------------------------------------------

    def _happen(self, misfortune: Misfortune) -> None:
        undo = self._misfortunes.begin(misfortune)
        if undo is not None:
            self.world.events.note(self._host(misfortune.host).address, str(misfortune))
            self._plan_for(self.world.clock.now_ns() + misfortune.duration_ns, undo)

    def _start_driver(self, host: SimulatedHost) -> None:
        with redirect_stderr(StringIO()) as said:
            host.start_driver(**OPTIONS)
        for line in said.getvalue().splitlines():
            self.world.events.note(host.address, line)
        self._belongings[host.address] = Belongings(host)
