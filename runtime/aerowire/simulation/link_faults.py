"""What a link does to the packets that a host sends to another one: settings, checked when they are made."""

from __future__ import annotations

import errno
import math
from dataclasses import dataclass

from aerowire.base.arguments import whole_number, wrong_type
from aerowire.base.errors import ConfigurationError

# Longer than any simulated run, and short enough for sums of them to fit into 63 bits.
TIME_NS_MAX = 3_600_000_000_000
# Shorter ones would be drawn by the thousand for each packet of a quiet link.
CLOG_INTERVAL_NS_MIN = 1_000_000
QUEUE_LENGTH_MAX = 65_536
RATE_MAX = 1 << 40
SEND_ERRORS_MAX = 8
ERRNO_MAX = 4_095
# Of a jitter without a limit of its own: one packet in 22,000 would take longer.
JITTER_LIMIT = 10
_CHANCES = ("loss", "duplicate", "replay", "reorder", "send_error")
_TIMES = ("latency_ns", "jitter_ns", "reorder_ns", "clog_interval_ns", "clog_mean_ns", "clog_max_ns")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFaults:
    """Chances are those of each packet, 0 to 1; times are nanoseconds. The defaults are a link without faults.

    A packet takes `latency_ns` plus an exponentially distributed time of mean `jitter_ns`, which is drawn for each packet, so that jitter
    reorders. Raises ConfigurationError for a value out of range, WrongTypeError for one that is no number.
    """

    loss: float = 0.0
    """Chance to get lost."""
    duplicate: float = 0.0
    """Chance to arrive twice."""
    replay: float = 0.0
    """Chance to be followed by one of the last 16 packets of the link, once more."""
    reorder: float = 0.0
    """Chance to be held back, so that later packets overtake it."""
    reorder_ns: int = 1_000_000
    """The longest time for which `reorder` holds a packet back; shorter ones are as likely."""
    latency_ns: int = 10_000
    """The least time from one host to the other."""
    jitter_ns: int = 0
    """Mean of what a packet takes beyond the latency."""
    jitter_max_ns: int | None = None
    """The most that a packet takes beyond the latency; None for ten times the mean."""
    clog_interval_ns: int = 0
    """Mean time from the end of a clogging to the next; 0 for none. A clogged link delivers nothing, and everything at the end."""
    clog_mean_ns: int = 0
    """Mean length of a clogging, which is exponentially distributed."""
    clog_max_ns: int = 5_000_000_000
    """The longest clogging."""
    queue_length: int = 0
    """The most packets that are on the link at a time, from sending to arrival; 0 for any number."""
    drops_oldest: bool = False
    """Whether a full link drops its oldest packet and not the new one."""
    bytes_per_second: int = 0
    """Bytes of payload that the link takes up in a second, one packet after the other; 0 for any number."""
    send_error: float = 0.0
    """Chance that the system refuses to send."""
    send_errors: tuple[int, ...] = (errno.EAGAIN, errno.ENOBUFS, errno.EPERM, errno.ENETUNREACH)
    """The errors that it refuses with, each as likely."""

    def __post_init__(self) -> None:
        for name in _CHANCES:
            _check_chance(name, getattr(self, name))
        for name in _TIMES:
            whole_number(name, getattr(self, name), 0, TIME_NS_MAX, where="LinkFaults")
        if self.jitter_max_ns is not None:
            whole_number("jitter_max_ns", self.jitter_max_ns, 0, TIME_NS_MAX, where="LinkFaults")
        if self.clog_interval_ns:
            whole_number(
                "clog_interval_ns", self.clog_interval_ns, CLOG_INTERVAL_NS_MIN, TIME_NS_MAX, where="LinkFaults", hint="0 for none"
            )
            whole_number("clog_mean_ns", self.clog_mean_ns, 1, TIME_NS_MAX, where="LinkFaults of a link that clogs")
        whole_number("queue_length", self.queue_length, 0, QUEUE_LENGTH_MAX, where="LinkFaults")
        whole_number("bytes_per_second", self.bytes_per_second, 0, RATE_MAX, where="LinkFaults")
        if not isinstance(self.drops_oldest, bool):
            raise wrong_type("drops_oldest", self.drops_oldest, "True or False", "LinkFaults")
        self._check_send_errors()

    @property
    def longest_jitter_ns(self) -> int:
        """The most that a packet takes beyond the latency."""
        return min(JITTER_LIMIT * self.jitter_ns, TIME_NS_MAX) if self.jitter_max_ns is None else self.jitter_max_ns

    def _check_send_errors(self) -> None:
        if not isinstance(self.send_errors, tuple):
            raise wrong_type("send_errors", self.send_errors, "a tuple of errno values", "LinkFaults")
        if not 1 <= len(self.send_errors) <= SEND_ERRORS_MAX:
            expected = f"1 to {SEND_ERRORS_MAX} errno values"
            raise ConfigurationError(
                "send_errors has the wrong length", where="LinkFaults", expected=expected, actual=len(self.send_errors)
            )
        for value in self.send_errors:
            whole_number("send_errors", value, 1, ERRNO_MAX, where="LinkFaults")


def _check_chance(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type(name, value, "a number from 0 to 1", "LinkFaults")
    if math.isnan(value) or not 0 <= value <= 1:
        raise ConfigurationError(f"{name} is out of range", where="LinkFaults", expected="0 to 1", actual=value)
