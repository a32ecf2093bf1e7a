"""A receive window that grows by a cubic function of the time since the last loss: CUBIC, as receivers do it.

W(t) = C * (t - K)^3 + W_max in datagrams, with t since the last loss, W_max the window before it and K = cbrt(W_max * B / C), so that
the window is back at W_max after K seconds, flat around it.
"""

from libc.math cimport cbrt
from libc.stdint cimport int32_t, int64_t

cimport cython

from aerowire.ipc.counters cimport CountersReader, counter_set
from aerowire.memory.atomics cimport load_relaxed_i64, store_relaxed_i64

cdef int32_t INITIAL_CWND = 10          # datagrams
cdef int64_t RTT_TIMEOUT_MULTIPLE = 4   # round trips between two measurements
cdef double C = 0.4                     # datagrams per cubic second: how fast it grows
cdef double B = 0.2                     # the part that a loss takes away
cdef double NS_PER_SECOND = 1e9
cdef int64_t MEASURED_RTT_MAX_NS = 60_000_000_000
cdef double GROWTH_MAX = 1 << 30        # datagrams: more than any window has


cdef inline double _bounded(double growth) noexcept nogil:
    return GROWTH_MAX if growth > GROWTH_MAX else (-GROWTH_MAX if growth < -GROWTH_MAX else growth)


@cython.final
cdef class CubicCongestionControl(CongestionControl):
    """Aeron: CubicCongestionControl. Lengths in bytes, times in ns. Invariant: 1 <= window in datagrams <= max_window_length / mtu.

    `tcp_mode` keeps the window after a loss from being smaller than TCP's. Counters, where given, tell the window and the round trip.
    """

    def __cinit__(self, *, int32_t max_window_length, int32_t mtu, int64_t now_ns, int64_t initial_rtt_ns=100_000, bint measure_rtt=False,
                  bint tcp_mode=False, CountersReader counters=None, int32_t rtt_counter_id=-1, int32_t window_counter_id=-1):
        if mtu < 1 or max_window_length < mtu:
            raise ValueError(f"window of a congestion control: expected at least one MTU of {mtu} bytes, actual {max_window_length}")
        if not 0 <= initial_rtt_ns <= MEASURED_RTT_MAX_NS:
            raise ValueError(f"first round trip of a congestion control: expected 0 to {MEASURED_RTT_MAX_NS} ns, actual {initial_rtt_ns}")
        self._mtu = mtu
        self._max_window_length = max_window_length
        self._measure_rtt = measure_rtt
        self._tcp_mode = tcp_mode
        self._initial_rtt_ns = initial_rtt_ns
        self._max_cwnd = max_window_length // mtu
        self._cwnd = min(INITIAL_CWND, self._max_cwnd)
        self._initial_window_length = self._cwnd * mtu
        self._w_max = self._max_cwnd        # so that it starts in the concave part
        self._k = cbrt(self._w_max * B / C)
        self._rtt_ns = initial_rtt_ns
        self._rtt_timeout_ns = initial_rtt_ns * RTT_TIMEOUT_MULTIPLE
        self._last_loss_ns = self._last_update_ns = now_ns
        self._counters = counters
        if counters is not None:
            self._rtt_indicator = counters.value_address(rtt_counter_id)
            self._window_indicator = counters.value_address(window_counter_id)
        self._set_window(self._initial_window_length)

    cdef int32_t on_track_rebuild(self, int64_t now_ns, int64_t consumption_position, int64_t last_sm_position, int64_t hwm_position,
                                  int64_t rebuild_start, int64_t rebuild_end, bint loss_occurred,
                                  bint* force_status_message) noexcept nogil:
        force_status_message[0] = False
        if loss_occurred:
            force_status_message[0] = True
            self._on_loss(now_ns)
        elif self._cwnd < self._max_cwnd and self._last_update_ns + self._initial_rtt_ns - now_ns < 0:
            self._grow(now_ns)
        elif self._cwnd == 1 and consumption_position > last_sm_position:
            # With the least window the sender waits for every step.
            force_status_message[0] = True
        return self._window_length

    cdef int32_t initial_window_length(self) noexcept nogil:
        return self._initial_window_length

    cdef int32_t max_window_length(self) noexcept nogil:
        return self._max_window_length

    cdef bint should_measure_rtt(self, int64_t now_ns) noexcept nogil:
        return self._measure_rtt and self._last_rtt_ns + self._rtt_timeout_ns - now_ns < 0

    cdef void on_rtt_measurement_sent(self, int64_t now_ns) noexcept nogil:
        self._last_rtt_ns = now_ns

    cdef void on_rtt_measurement(self, int64_t now_ns, int64_t rtt_ns) noexcept nogil:
        self._last_rtt_ns = now_ns
        if rtt_ns < 0 or rtt_ns > MEASURED_RTT_MAX_NS:
            return                          # a made-up echo
        store_relaxed_i64(&self._rtt_ns, rtt_ns)
        if self._rtt_indicator is not NULL:
            counter_set(self._rtt_indicator, rtt_ns)
        self._rtt_timeout_ns = (rtt_ns if rtt_ns > self._initial_rtt_ns else self._initial_rtt_ns) * RTT_TIMEOUT_MULTIPLE

    cdef void _on_loss(self, int64_t now_ns) noexcept nogil:
        self._w_max = self._cwnd
        self._k = cbrt(self._w_max * B / C)
        self._cwnd = <int32_t>(self._cwnd * (1.0 - B))
        if self._cwnd < 1:
            self._cwnd = 1
        self._set_window(self._cwnd * self._mtu)
        self._last_loss_ns = now_ns

    cdef void _grow(self, int64_t now_ns) noexcept nogil:
        cdef double since_loss = <double>(now_ns - self._last_loss_ns) / NS_PER_SECOND
        cdef double from_k = since_loss - self._k
        cdef double cwnd = self._w_max + <double><int64_t>_bounded(C * from_k * from_k * from_k)
        cdef double tcp
        if self._tcp_mode and cwnd < self._w_max:
            tcp = self._w_max * (1.0 - B) + 3.0 * B / (2.0 - B) * (since_loss / (<double>load_relaxed_i64(&self._rtt_ns) / NS_PER_SECOND))
            if tcp > cwnd:
                cwnd = tcp
        if cwnd > self._max_cwnd:
            cwnd = self._max_cwnd
        self._cwnd = <int32_t>cwnd if cwnd > 1 else 1
        if self._cwnd * self._mtu != self._window_length:
            self._set_window(self._cwnd * self._mtu)
        self._last_update_ns = now_ns

    cdef void _set_window(self, int32_t window_length) noexcept nogil:
        self._window_length = window_length
        if self._window_indicator is not NULL:
            counter_set(self._window_indicator, window_length)

    @property
    def window_length(self):
        """The window in bytes; exact only while no conductor agent uses it."""
        return self._window_length
