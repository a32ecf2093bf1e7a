"""The agent that keeps every stream in order, natively: what Aeron's conductor does each cycle, without what it does once.

Each cycle: commands of the conductor, a look at the ring of client commands, every image's and publication's limits; each timer
interval: the driver's heartbeat, states of streams, liveness of clients. It creates and frees nothing; the conductor does.
"""

from libc.stdint cimport int32_t, int64_t

cimport cython

from aerowire.agents.duty_cycle cimport duty_cycle_measure, duty_cycle_start
from aerowire.codecs.native.counters cimport (
    SYSTEM_COUNTER_CLIENT_TIMEOUTS, SYSTEM_COUNTER_CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED, SYSTEM_COUNTER_CONDUCTOR_MAX_CYCLE_TIME,
    SYSTEM_COUNTER_CONDUCTOR_PROXY_FAILS)
from aerowire.base.ports cimport ClockPort
from aerowire.driver.agents.client_liveness cimport ClientRecord
from aerowire.driver.queues.events cimport (
    EVENT_CLIENT_TIMEOUT, EVENT_COMMANDS_BLOCKED, EVENT_SUBSCRIBER_LINKED, EVENT_SUBSCRIBER_UNLINKED, EventQueue, EventRecord)
from aerowire.driver.streams.ipc_publication cimport IpcPublication
from aerowire.driver.streams.network_publication cimport NetworkPublication
from aerowire.driver.streams.publication_image cimport PublicationImage
from aerowire.driver.streams.subscribable cimport Subscribable
from aerowire.driver.queues.system_counters cimport SystemCounters
from aerowire.ipc.counters cimport counter_get, counter_increment
from aerowire.ipc.heartbeat cimport heartbeat_age_ns, look_at_clocks

cdef int64_t NS_PER_MS = 1_000_000


@cython.final
cdef class ConductorAgent(DriverAgent):
    """Aeron: DriverConductor.doWork.

    Invariant: events of one stream come in the order of its states; an object is touched last before its final event is posted.
    """

    def __cinit__(self, *, ClockPort clock not None, SystemCounters system not None, EventQueue events not None,
                  ManyToOneRingBuffer to_driver=None, int64_t timer_interval_ns=1_000_000_000,
                  int64_t client_liveness_timeout_ns=10_000_000_000, int64_t cycle_threshold_ns=100_000_000):
        self.set_up(clock, system, events, SYSTEM_COUNTER_CONDUCTOR_MAX_CYCLE_TIME,
                     SYSTEM_COUNTER_CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED, cycle_threshold_ns)
        self._counters = system.counters
        events.failed_offers = system.address[SYSTEM_COUNTER_CONDUCTOR_PROXY_FAILS]
        self._to_driver = to_driver
        self._ipc_publications = PointerArray()
        self._network_publications = PointerArray()
        self._images = PointerArray()
        self._clients = ClientLiveness()
        self._timer_interval_ns = timer_interval_ns
        self._client_timeout_ns = client_liveness_timeout_ns
        self._signalled_position = -1

    @property
    def role_name(self) -> str:
        """Aeron's name of the role."""
        return "driver-conductor"

    cdef void on_start(self) noexcept nogil:
        cdef int64_t now_ns = self.clock.nano_time()
        duty_cycle_start(&self.cycle, now_ns)
        self._timer_deadline_ns = now_ns + self._timer_interval_ns
        self._last_moved_ns = now_ns
        # Now, and not with the first timer: a wall clock that is set before it would make all clients seem silent.
        look_at_clocks(&self._look, now_ns, self.clock.epoch_ms())
        if self._to_driver is not None:
            self._to_driver.set_consumer_heartbeat(self.clock.epoch_ms())

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work_count = 0
        duty_cycle_measure(&self.cycle, now_ns)
        if self._timer_deadline_ns - now_ns <= 0:
            self._timer_deadline_ns = now_ns + self._timer_interval_ns
            self._on_timer(now_ns, epoch_ms)
            work_count = 1
        work_count += self.take_commands(now_ns)
        work_count += self._watch_commands()
        work_count += self._track_streams(now_ns, epoch_ms)
        return work_count

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        cdef int64_t deadline = self._timer_deadline_ns
        cdef int64_t other
        cdef int i
        for i in range(self._images.count):
            other = (<PublicationImage>self._images.items[i]).conductor_agent_deadline_ns()
            if other < deadline:
                deadline = other
        return deadline

    cdef int _track_streams(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work_count = 0
        cdef int i
        for i in range(self._images.count):
            work_count += (<PublicationImage>self._images.items[i]).track_rebuild(now_ns, epoch_ms)
        for i in range(self._network_publications.count):
            work_count += (<NetworkPublication>self._network_publications.items[i]).update_limit()
        for i in range(self._ipc_publications.count):
            work_count += (<IpcPublication>self._ipc_publications.items[i]).update_limit()
        return work_count

    cdef int _watch_commands(self) noexcept nogil:
        # Once for each new tail: the conductor reads to the end when it is woken.
        cdef int64_t position
        if self._to_driver is None:
            return 0
        position = self._to_driver.producer_position()
        if position == self._signalled_position:
            return 0
        self._signalled_position = position
        if self._to_driver.consumer_position() != position:
            self.events.signal()
            return 1
        return 0

    cdef void _on_timer(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int i
        if self._to_driver is not None:
            self._to_driver.set_consumer_heartbeat(epoch_ms)
            self._check_blocked_commands(now_ns)
        look_at_clocks(&self._look, now_ns, epoch_ms)
        self._check_clients()
        i = self._network_publications.count - 1
        while i >= 0:
            if (<NetworkPublication>self._network_publications.items[i]).on_time_event(now_ns, self.events):
                self._network_publications.remove_at(i)
            i -= 1
        i = self._images.count - 1
        while i >= 0:
            if (<PublicationImage>self._images.items[i]).on_time_event(now_ns, self.events):
                self._images.remove_at(i)
            i -= 1
        i = self._ipc_publications.count - 1
        while i >= 0:
            if (<IpcPublication>self._ipc_publications.items[i]).on_time_event(now_ns, self.events):
                self._ipc_publications.remove_at(i)
            i -= 1

    cdef void _check_blocked_commands(self, int64_t now_ns) noexcept nogil:
        # Only the ring's consumer may pad a hole, so the conductor is asked to.
        cdef int64_t position = self._to_driver.consumer_position()
        if position != self._blocked_position or self._to_driver.producer_position() <= position:
            self._blocked_position = position
            self._last_moved_ns = now_ns
            return
        self.events.signal()
        if self._last_moved_ns + self._client_timeout_ns - now_ns < 0:
            self.events.offer_or_retry(EVENT_COMMANDS_BLOCKED, NULL, 0, 0)

    cdef void _check_clients(self) noexcept nogil:
        cdef int i = self._clients.count - 1
        cdef ClientRecord* client
        cdef EventRecord* record
        cdef int64_t heartbeat_ms
        while i >= 0:
            client = self._clients.at(i)
            heartbeat_ms = counter_get(client.heartbeat)
            if heartbeat_ms == 0 or heartbeat_age_ns(&client.watch, &self._look, heartbeat_ms) // NS_PER_MS > self._client_timeout_ns // NS_PER_MS:
                record = self.events.claim(EVENT_CLIENT_TIMEOUT, NULL) if self.events.has_timer_room() else NULL
                if record is NULL:
                    return
                record.values[0] = client.client_id
                record.values[1] = heartbeat_ms == 0
                self.events.publish(record)
                if heartbeat_ms != 0:
                    counter_increment(self.system.address[SYSTEM_COUNTER_CLIENT_TIMEOUTS])
                self._clients.remove_at(i)
            i -= 1

    # ---- commands

    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil:
        if command.operation == ADD_IPC_PUBLICATION:
            self._ipc_publications.add(command.subject)
        elif command.operation == ADD_NETWORK_PUBLICATION:
            self._network_publications.add(command.subject)
        elif command.operation == ADD_IMAGE:
            self._images.add(command.subject)
        elif command.operation == CLOSE_IPC_PUBLICATION:
            (<IpcPublication>command.subject).on_closed()
            # One that was revoked may be over at once: its final event is posted, and nobody holds it any more.
            if command.flag and (<IpcPublication>command.subject).on_time_event(now_ns, self.events):
                self._ipc_publications.remove(command.subject)
        elif command.operation == CLOSE_NETWORK_PUBLICATION:
            (<NetworkPublication>command.subject).on_closed()
            if command.flag and (<NetworkPublication>command.subject).on_time_event(now_ns, self.events):
                self._network_publications.remove(command.subject)
        elif command.operation == LINK_SUBSCRIBER:
            self._link(command, now_ns)
        elif command.operation == UNLINK_SUBSCRIBER:
            self._unlink(command)
        elif command.operation == ADD_CLIENT:
            self._add_client(command.value, command.a)
        elif command.operation == REJECT_IPC_PUBLICATION:
            (<IpcPublication>command.subject).on_rejected(now_ns)

    cdef void _link(self, Command* command, int64_t now_ns) noexcept nogil:
        cdef int64_t position = (<Subscribable>command.subject).link_subscriber(command.a, command.value, command.b, now_ns)
        cdef EventRecord* record = self.events.claim(EVENT_SUBSCRIBER_LINKED, command.subject)
        if record is not NULL:
            record.values[0] = command.a
            record.values[1] = position
            record.values[2] = command.value
            record.values[3] = position >= 0
            self.events.publish(record)

    cdef void _add_client(self, int64_t client_id, int32_t heartbeat_counter_id) noexcept nogil:
        cdef int64_t* heartbeat = self._counters.value_address(heartbeat_counter_id)
        if heartbeat is not NULL:
            self._clients.add(client_id, heartbeat, heartbeat_counter_id)

    cdef void _unlink(self, Command* command) noexcept nogil:
        (<Subscribable>command.subject).unlink_subscriber(command.a)
        self.events.offer(EVENT_SUBSCRIBER_UNLINKED, command.subject, command.a, command.value)
