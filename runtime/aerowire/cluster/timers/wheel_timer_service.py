"""Timers in a wheel of ticks. Aeron: WheelTimerService, and Agrona's DeadlineTimerWheel.

A tick's timers are in one spoke of the wheel, in slots; timers of later turns share the spoke. A poll lets expire what is due in the
current tick, in the order of the slots, then goes on to the next one: timers of one tick are not ordered by their deadlines.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from aerowire.base.errors import ConfigurationError
from aerowire.cluster.timers.long_key_order import LongKeyOrder
from aerowire.cluster.timers.timer_service import POLL_LIMIT, TimerHandler

_FIRST_SPOKE_LENGTH = 16
# Behind the latest deadline that there is.
_NEVER = 1 << 63


class _Spoke:
    """Timers of a tick and of the same tick of later turns, as correlation id and deadline; None is a free slot.

    Invariant: the last slot is not free; `free_count` slots before it are. `_earliest` is the earliest deadline, None if it is not known.
    """

    __slots__ = ("_earliest", "free_count", "slots")

    def __init__(self) -> None:
        self.slots: list[tuple[int, int] | None] = []
        self.free_count = 0
        self._earliest: int | None = _NEVER

    @property
    def earliest(self) -> int:
        """The earliest deadline."""
        if self._earliest is None:
            self._earliest = min((timer[1] for timer in self.slots if timer is not None), default=_NEVER)
        return self._earliest

    def put(self, timer: tuple[int, int]) -> int:
        """Put a timer into the first free slot; return which that is."""
        if self._earliest is not None:
            self._earliest = min(self._earliest, timer[1])
        slots = self.slots
        if not self.free_count:
            slots.append(timer)
            return len(slots) - 1
        index = slots.index(None)
        slots[index] = timer
        self.free_count -= 1
        return index

    def free(self, index: int) -> None:
        """Free a slot."""
        slots = self.slots
        timer = slots[index]
        assert timer is not None
        if timer[1] == self._earliest:
            self._earliest = None
        slots[index] = None
        self.free_count += 1
        while slots and slots[-1] is None:
            slots.pop()
            self.free_count -= 1


class WheelTimerService:
    """Timers that expire by ticks. Changed by all methods but `snapshot` and `next_deadline`.

    Invariant: a timer is in the spoke of its deadline's tick, or of a tick that was current when it was scheduled and already late.
    `_poll_index` is the slot of the current tick at which the next poll begins. A deadline of 2^63 - 1 is a timer that never expires;
    the official wheel takes its slot for free.
    """

    def __init__(self, on_timer_event: TimerHandler, *, start_time: int = 0, tick_resolution: int, ticks_per_wheel: int) -> None:
        """Times are in the unit of the cluster's clock. Raises ConfigurationError."""
        for name, value in (("tick_resolution", tick_resolution), ("ticks_per_wheel", ticks_per_wheel)):
            if value < 1 or value & (value - 1):
                raise ConfigurationError("invalid timer wheel", where=name, expected="a power of two", actual=value)
        self._on_timer_event = on_timer_event
        self._start_time = start_time
        self._resolution_bits = tick_resolution.bit_length() - 1
        self._spokes = [_Spoke() for _ in range(ticks_per_wheel)]
        self._spoke_length = _FIRST_SPOKE_LENGTH
        self._current_tick = 0
        self._poll_index = 0
        # The spoke and the slot of each timer.
        self._places: dict[int, tuple[int, int]] = {}
        self._order = LongKeyOrder()

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer, in place of the one that has the same correlation id."""
        self.cancel_timer(correlation_id)
        index = max(self._tick_of(deadline), self._current_tick) % len(self._spokes)
        slot = self._spokes[index].put((correlation_id, deadline))
        if slot == self._spoke_length:
            self._spoke_length *= 2
        self._places[correlation_id] = index, slot
        self._order.add(correlation_id)

    def cancel_timer(self, correlation_id: int) -> bool:
        """Remove a timer; return whether there was one."""
        place = self._places.pop(correlation_id, None)
        if place is None:
            return False
        self._order.remove(correlation_id)
        index, slot = place
        self._spokes[index].free(slot)
        return True

    def poll(self, now: int) -> int:
        """Hand expired timers to the handler, tick by tick up to the time; return how many it took.

        A poll ends when it comes to the tick of the time, and the next one looks into that tick. It also ends when 20 timers have expired,
        of which there are at most 20 in a tick: the last tick may bring a poll to 39. All of this is as with Aeron.
        """
        expired_count = 0
        quiet_ticks = 0
        while True:
            count, is_refused = self._poll_tick(now)
            expired_count += count
            if is_refused or expired_count >= POLL_LIMIT or self._end_of(self._current_tick) >= now:
                return expired_count
            quiet_ticks = 0 if count else quiet_ticks + 1
            if quiet_ticks == len(self._spokes) or not self._places:
                # Nothing was due in a whole turn, and nothing is in those that follow up to the time.
                self._current_tick = self._tick_of(now - 1)
                return expired_count

    def snapshot(self) -> Iterator[tuple[int, int]]:
        """Yield the correlation id and the deadline of each timer, in the order in which the official service has them."""
        for correlation_id in self._order:
            index, slot = self._places[correlation_id]
            timer = self._spokes[index].slots[slot]
            assert timer is not None
            yield timer

    def current_time(self, now: int) -> None:
        """Go on to the tick of a time. Timers of ticks in between expire when the wheel has turned to their spokes again."""
        self._current_tick = max(self._tick_of(now), self._current_tick)

    def next_deadline(self) -> int | None:
        """Return when a poll finds the next expired timer, which may be in the past; None if there is no timer."""
        if not self._places:
            return None
        first = self._current_tick
        for tick in range(first, first + len(self._spokes)):
            earliest = self._spokes[tick % len(self._spokes)].earliest
            if earliest < self._end_of(tick):
                return earliest if tick == first else max(earliest, self._end_of(tick - 1))
        return min(spoke.earliest for spoke in self._spokes)

    def _poll_tick(self, now: int) -> tuple[int, bool]:
        """Poll the current tick, and go on to the next one if it is over; return how many timers expired, and if the handler refused."""
        tick = self._current_tick
        spoke = self._spokes[tick % len(self._spokes)]
        expired_count = 0
        begin = self._poll_index
        slots = chain(range(begin, len(spoke.slots)), range(min(begin, len(spoke.slots)))) if spoke.earliest <= now else ()
        for slot in slots:
            timer = spoke.slots[slot] if slot < len(spoke.slots) else None
            if timer is None or timer[1] > now:
                continue
            if not self._on_timer_event(timer[0]):
                self._poll_index = slot
                return expired_count, True
            self.cancel_timer(timer[0])
            expired_count += 1
            if expired_count == POLL_LIMIT:
                self._poll_index = (slot + 1) % self._spoke_length
                return expired_count, False
        if now >= self._end_of(tick):
            self._current_tick += 1
            self._poll_index = 0
        return expired_count, False

    def _tick_of(self, time: int) -> int:
        return (time - self._start_time) >> self._resolution_bits

    def _end_of(self, tick: int) -> int:
        """Return the time at which the tick after a tick begins."""
        return ((tick + 1) << self._resolution_bits) + self._start_time
