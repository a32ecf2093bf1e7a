"""What a scenario is, and the plan that a seed draws from it: everything that will be done to a world, before anything is.

A plan can be made smaller: `Plan.only` keeps some of its parts. The rest of the plan stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Self, TypeVar

from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.ranges import check_scenario

T = TypeVar("T")

MS, SECOND = 1_000_000, 1_000_000_000
Range = tuple[float, float]
# How long the drivers of all scenarios let the id of a freed counter rest.
REUSE_TIMEOUT_MS = 1_000


class Medium(Enum):
    """How a stream gets from publisher to subscriber."""

    UDP = "UDP unicast"
    IPC = "shared memory of one host"
    GROUP = "UDP multicast"
    DYNAMIC = "UDP with dynamic destinations"


class Kind(Enum):
    """A misfortune."""

    PARTITION = "partition"
    CLOG = "clog"
    PAUSE = "pause"
    SLOW = "slow"
    KILL_CLIENT = "kill of a client"
    KILL_DRIVER = "kill of a driver"
    POWER = "power failure"
    CLOCK_JUMP = "jump of a wall clock"
    CLOCK_DRIFT = "drift of a clock"


CRASHES = (Kind.KILL_CLIENT, Kind.KILL_DRIVER, Kind.POWER)


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """A stream: `publisher` and `subscribers` are numbers of hosts, lengths in bytes of payload, the rate in messages a second.

    A host may be among the subscribers several times. `poll_ns` is how long each of them pauses between two polls, () for not at all. A
    publisher holds the claim of each message for up to `hold_ns` before it commits it; 0 where messages are offered. After `ends_after`
    messages it ends in good order, and another takes its place; 0 for never.
    """

    number: int
    medium: Medium
    publisher: int
    subscribers: tuple[int, ...]
    rate: int
    length_max: int
    poll_ns: tuple[int, ...] = ()
    hold_ns: int = 0
    ends_after: int = 0

    def without_habits(self) -> StreamPlan:
        """Return a stream with one subscriber on each of its hosts, which never pauses, and a publisher that offers and does not end."""
        return replace(self, subscribers=tuple(dict.fromkeys(self.subscribers)), poll_ns=(), hold_ns=0, ends_after=0)


@dataclass(frozen=True, slots=True)
class Misfortune:
    """Something that happens to a host at a time from the start of the scenario, for a duration. `seed` decides its details."""

    at_ns: int
    kind: Kind
    host: int
    duration_ns: int
    seed: int

    def __str__(self) -> str:
        return f"{self.kind.value} at host {self.host} after {self.at_ns / SECOND:.3f} s for {self.duration_ns / SECOND:.3f} s"


@dataclass(frozen=True, slots=True)
class Kept:
    """Parts of a plan, None for all of a kind.

    Misfortunes and streams are told by their places in the plan, habits by the numbers of the streams that keep theirs, applications that
    add and close all the time by their hosts.
    """

    misfortunes: tuple[int, ...] | None = None
    streams: tuple[int, ...] | None = None
    habits: tuple[int, ...] | None = None
    churners: tuple[int, ...] | None = None

    def further(self, smaller: Kept) -> Kept:
        """Return what is kept of the whole plan, where `smaller` is kept of the plan of these parts."""
        return replace(
            smaller,
            misfortunes=_chosen(self.misfortunes, smaller.misfortunes),
            streams=_chosen(self.streams, smaller.streams),
        )


def parts_at(places: tuple[int, ...] | None, parts: tuple[T, ...]) -> tuple[T, ...]:
    """Return the parts at some places of a plan, all of them for None."""
    return parts if places is None else tuple(parts[place] for place in places)


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a seed draws from a scenario."""

    scenario: str
    seed: int
    hosts: int
    duration_ns: int
    faults: LinkFaults
    streams: tuple[StreamPlan, ...]
    misfortunes: tuple[Misfortune, ...]
    churners: tuple[int, ...] = ()  # hosts with an application that adds and closes counters and publications all the time

    @property
    def habitual_streams(self) -> tuple[int, ...]:
        """The numbers of the streams that have any habit: several readers on a host, pauses, held claims, ends."""
        return tuple(stream.number for stream in self.streams if stream != stream.without_habits())

    @property
    def is_faultless(self) -> bool:
        """Whether nothing is lost and nothing happens to any host."""
        return not self.misfortunes and not self.faults.loss and not self.faults.send_error and not self.faults.queue_length

    def only(self, kept: Kept) -> Self:
        """Return a plan of those parts that are kept."""
        misfortunes, streams = parts_at(kept.misfortunes, self.misfortunes), parts_at(kept.streams, self.streams)
        churners = self.churners
        if kept.habits is not None:
            streams = tuple(stream if stream.number in kept.habits else stream.without_habits() for stream in streams)
        if kept.churners is not None:
            churners = tuple(host for host in churners if host in kept.churners)
        return replace(self, misfortunes=misfortunes, streams=streams, churners=churners)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Ranges that plans are drawn from. Chances of faults are those of a packet, drawn from their range once for a seed.

    `misfortune_s` is the mean time between two misfortunes, 0 for none; `crash` the chance that one kills or takes the power. `hold` and
    `end` are the chances of a stream that its publisher holds claims, for up to `hold_ms`, and that it ends, after `end_after` messages.
    `churn` is the chance of a host to have an application that adds and closes things all the time. A stream whose subscribers are on one
    host has `readers` of them, half of which pause for `poll_ms` between two polls. Raises ConfigurationError for a range that cannot be
    drawn from.
    """

    name: str
    about: str
    hosts: tuple[int, int] = (1, 5)
    duration_s: tuple[int, int] = (10, 60)
    streams: tuple[int, int] = (1, 4)
    media: tuple[Medium, ...] = tuple(Medium)
    rate: tuple[int, int] = (1, 50)
    length_max: tuple[int, int] = (1, 4000)
    loss: Range = (0.0, 0.0)
    duplicate: Range = (0.0, 0.0)
    replay: Range = (0.0, 0.0)
    reorder: Range = (0.0, 0.0)
    latency_ms: Range = (0.01, 1.0)
    jitter_ms: Range = (0.0, 0.0)
    queue_length: tuple[int, int] = (0, 0)
    send_error: Range = (0.0, 0.0)
    misfortune_s: Range = (0.0, 0.0)
    crash: float = 0.0
    kinds: tuple[Kind, ...] = ()
    readers: tuple[int, int] = (1, 1)
    poll_ms: Range = (0.0, 0.0)
    hold: float = 0.0
    hold_ms: Range = (1.0, 400.0)
    end: float = 0.0
    end_after: tuple[int, int] = (5, 200)
    churn: float = 0.0

    def __post_init__(self) -> None:
        check_scenario(self)

    def plan(self, seed: int) -> Plan:
        """Draw the plan of a seed."""
        draws = Draws(self.name, seed)
        hosts = draws.whole(*self.hosts)
        duration_ns = draws.whole(*self.duration_s) * SECOND
        faults = LinkFaults(
            loss=draws.between(*self.loss),
            duplicate=draws.between(*self.duplicate),
            replay=draws.between(*self.replay),
            reorder=draws.between(*self.reorder),
            latency_ns=int(draws.between(*self.latency_ms) * MS),
            jitter_ns=int(draws.between(*self.jitter_ms) * MS),
            queue_length=draws.whole(*self.queue_length),
            send_error=draws.between(*self.send_error),
        )
        streams = tuple(self._stream(draws, number, hosts) for number in range(draws.whole(*self.streams)))
        misfortunes = tuple(self._misfortunes(draws, hosts, duration_ns))
        habits = Draws(f"habits of {self.name}", seed)
        streams = tuple(self._with_habits(habits, stream) for stream in streams)
        churners = tuple(host for host in range(hosts) if habits.happens(self.churn))
        return Plan(self.name, seed, hosts, duration_ns, faults, streams, misfortunes, churners)

    def _stream(self, draws: Draws, number: int, hosts: int) -> StreamPlan:
        subscribers: tuple[int, ...]
        medium = Medium.IPC if hosts == 1 else draws.one_of(self.media)
        publisher = draws.whole(0, hosts - 1)
        others = [host for host in range(hosts) if host != publisher]
        if medium is Medium.IPC:
            subscribers = (publisher,)
        elif medium is Medium.UDP:
            subscribers = (draws.one_of(others),)
        else:
            first = draws.one_of(others)
            subscribers = tuple(host for host in others if host == first or draws.happens(0.5))
        return StreamPlan(number, medium, publisher, subscribers, draws.whole(*self.rate), draws.whole(*self.length_max))

    def _with_habits(self, habits: Draws, stream: StreamPlan) -> StreamPlan:
        subscribers, poll_ns = stream.subscribers, stream.poll_ns
        # The sender of a group does not wait for the slowest of its receivers, which a pause may leave behind for ever.
        if stream.medium in (Medium.IPC, Medium.UDP):
            subscribers *= habits.whole(*self.readers)
            poll_ns = tuple(int(habits.between(*self.poll_ms) * MS) * habits.happens(0.5) for _ in subscribers)
        return replace(
            stream,
            subscribers=subscribers,
            poll_ns=poll_ns,
            hold_ns=int(habits.between(*self.hold_ms) * MS) if habits.happens(self.hold) else 0,
            ends_after=habits.whole(*self.end_after) if habits.happens(self.end) else 0,
        )

    def _misfortunes(self, draws: Draws, hosts: int, duration_ns: int) -> list[Misfortune]:
        found: list[Misfortune] = []
        mean_ns = int(draws.between(*self.misfortune_s) * SECOND)
        crashes = [kind for kind in self.kinds if kind in CRASHES]
        others = [kind for kind in self.kinds if kind not in crashes]
        at_ns = draws.whole(0, 2 * mean_ns)
        while mean_ns and at_ns < duration_ns:
            kinds = crashes if crashes and (not others or draws.happens(self.crash)) else others
            found.append(Misfortune(at_ns, draws.one_of(kinds), draws.whole(0, hosts - 1), draws.whole(1, 5_000) * MS, draws.seed()))
            at_ns += draws.whole(1, 2 * mean_ns)
        return found


def _chosen(numbers: tuple[int, ...] | None, places: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return places if numbers is None else parts_at(places, numbers)
