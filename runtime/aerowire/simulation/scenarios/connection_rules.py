"""Rules of connections: two running sides are connected, one alone is not, and a stream ends with its publisher and its last message."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from aerowire.simulation.scenarios.checker import Checker
from aerowire.simulation.scenarios.plan import MS, SECOND, Medium
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.application import Application
    from aerowire.simulation.scenarios.run import Run
    from aerowire.simulation.scenarios.traffic import Publisher, PublisherLife, Subscriber

# How often connections are looked at.
LOOK_NS = 100 * MS
# Within which two sides find each other over a network that loses no more and takes no longer than this.
CONNECTION_NS = 10 * SECOND
LOSS_MAX = 0.5
DELAY_NS_MAX = 500 * MS


class Lives(Checker):
    """A client ends when it is closed or killed; it is not given up unless it or its driver was held up, or its driver was killed."""

    def on_ended(self, run: Run, application: Application) -> None:
        if not application.client.has_ended and not run.was_disturbed(application):
            where = f"{application.name} at {application.host.address}"
            raise ViolationError("a running client is not given up", "a client that goes on", application.what_it_waits_for(), where)


class Connections(Checker):
    """Two sides that nothing has happened to are connected, and once all faults have ended everything is.

    Without its subscribers a publication is not connected, and a subscription is not without its publisher.
    """

    def __init__(self) -> None:
        self._next_ns = 0
        self._begun_ns: dict[Application, int] = {}  # when an application was seen first

    def on_step(self, run: Run) -> None:
        now_ns = run.world.clock.now_ns()
        if now_ns < self._next_ns or not run.is_untouched:
            return
        self._next_ns = now_ns + LOOK_NS
        applications = (*run.publishers(), *run.subscribers())
        self._begun_ns = {application: self._begun_ns.get(application, now_ns) for application in applications}
        faults = run.plan.faults
        if faults.loss <= LOSS_MAX and faults.latency_ns + faults.jitter_ns <= DELAY_NS_MAX:
            for publisher in run.publishers():
                for subscriber in run.subscribers_of(publisher.stream):
                    self._check(now_ns, publisher, subscriber)

    def _check(self, now_ns: int, publisher: Publisher, subscriber: Subscriber) -> None:
        if now_ns - max(self._begun_ns[publisher], self._begun_ns[subscriber]) <= CONNECTION_NS:
            return
        for application in (publisher, subscriber):
            if not (application.is_connected or publisher.has_ended or subscriber.has_ended):
                self._tell(application, "two sides that run are connected", "a connection")

    def on_recovered(self, run: Run) -> None:
        for application in (*run.publishers(), *run.subscribers()):
            if not application.is_connected:
                self._tell(application, "a running application is connected", "a connection")

    def on_parted(self, run: Run) -> None:
        for application in (*run.publishers(), *run.subscribers()):
            if not application.has_ended and application.is_connected:
                self._tell(application, "one side alone is not connected", "no connection without its other side")

    @staticmethod
    def _tell(application: Application, rule: str, expected: str) -> NoReturn:
        where = f"{application.name} at {application.host.address}"
        raise ViolationError(rule, expected, application.what_it_waits_for(), where)


class Ends(Checker):
    """A stream ends when its publisher does, and not before the last message of a publisher that was closed in good order."""

    def on_end_of_stream(self, run: Run, subscriber: Subscriber, incarnation: int, number: int) -> None:
        publisher = run.publisher_of(subscriber.stream)
        life = run.life_of(incarnation)
        if life.is_closed:
            self._check(subscriber, life, number)
        elif publisher.life is life and not publisher.has_ended and not run.was_disturbed(publisher):
            saw = f"the end after message {number}"
            where = f"{subscriber.name} at {subscriber.host.address}"
            raise ViolationError("a stream ends with its publisher", f"more of publisher {incarnation}, which goes on", saw, where)

    def on_image_gone(self, run: Run, subscriber: Subscriber, incarnation: int, number: int) -> None:
        life = run.life_of(incarnation)
        if life.is_closed and run.plan.is_faultless:
            self._check(subscriber, life, number)

    def on_parted(self, run: Run) -> None:
        for subscriber in run.subscribers():
            # A group goes on with its fastest receiver, and may have ended before one that was cut off or held back is there.
            may_lag = subscriber.stream.medium in (Medium.GROUP, Medium.DYNAMIC) and not run.plan.is_faultless
            life = run.publisher_of(subscriber.stream).life
            if life.is_closed and not subscriber.has_ended and not may_lag:
                self._check(subscriber, life, subscriber.last_of(life.incarnation))

    @staticmethod
    def _check(subscriber: Subscriber, life: PublisherLife, number: int | None) -> None:
        if number != life.sent - 1:
            expected = f"message {life.sent - 1} of publisher {life.incarnation}"
            where = f"{subscriber.name} at {subscriber.host.address}"
            raise ViolationError("a stream ends with its last message", expected, f"the end after message {number}", where)
