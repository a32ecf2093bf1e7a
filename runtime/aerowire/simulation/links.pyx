"""Links between the hosts of a network: their settings, how they are clogged and cut, and what they have carried.

Knows nothing of sockets. A host is an address; multicast groups and addresses that no host has stand among them.
"""

from libc.stdint cimport INT64_MAX, int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

cimport cython

from dataclasses import dataclass
from enum import IntEnum

from aerowire.base.address cimport Address, address_from, address_set_port, address_to
from aerowire.base.arguments import whole_number, wrong_type
from aerowire.base.errors import ConfigurationError
from aerowire.base.ports cimport ClockPort
from aerowire.memory.growing cimport grow
from aerowire.simulation.draws cimport draw_exponential
from aerowire.simulation.host_addresses cimport same_host
from aerowire.simulation.link_faults import TIME_NS_MAX, LinkFaults
from aerowire.simulation.packets cimport ERRORS_MAX, Link, LinkSettings
from aerowire.system.random cimport SeededRandom

cdef int HOSTS_MAX = 1 << 16        # addresses that one world ever has

LossCause = IntEnum("LossCause", {name.removeprefix("LOSS_"): int(code) for name, code in LossCode.__members__.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCounts:
    """Packets of one link or of several. Invariant: sent + duplicated + replayed + copied == delivered + in_flight + the sum of `lost`.

    `copied` counts further sockets of one host that hear a group, `refused` sends that ended in an error, which are not among those sent.
    """

    sent: int
    duplicated: int
    replayed: int
    copied: int
    delivered: int
    refused: int
    in_flight: int
    lost: dict


cdef class LinkTable:
    """Settings by source and destination. The settings made last are obeyed, whether for one link or for many.

    Changed by: the network, which adds hosts and uses links, and by the caller between two steps of the world. A host's link to itself has
    settings of its own, which `set_all` and those for every source or destination leave alone: no cable is involved.
    """

    def __cinit__(self, ClockPort clock not None, SeededRandom random not None):
        self._clock = clock
        self._random = random
        self._held = {}
        self._settings_of(LinkFaults(), &self._loopback)
        self._settings_of(LinkFaults(), &self._all)

    def __dealloc__(self):
        cdef int host, other
        for host in range(self.record_count):
            for other in range(self.records[host].link_count):
                if self.records[host].links[other] is not NULL:
                    forget_packets(self.records[host].links[other])
                    free(self.records[host].links[other])
            free(self.records[host].links)
        free(self.records)

    def set(self, source, destination, faults) -> None:
        """Give a link new settings; None stands for every source or every destination, but not for both. A drawn clogging ends with the old ones.

        `source` and `destination` are addresses of hosts; for errors of sending to a multicast group, the destination is the group.
        """
        if source is None and destination is None:
            raise ConfigurationError("no link is named", where="LinkTable.set", expected="a source or a destination", actual="neither",
                                     hint="set_all is for every link")
        cdef LinkSettings settings
        cdef int first = NO_HOST if source is None else self.host_of(source)
        cdef int second = NO_HOST if destination is None else self.host_of(destination)
        self._settings_of(faults, cython.address(settings))
        if second == NO_HOST:
            self.records[first].outgoing = settings
        elif first == NO_HOST:
            self.records[second].incoming = settings
        else:
            self._apply(self._existing(first, second), &settings)
            return
        self._apply_to_all(first, second, &settings)

    def set_all(self, faults) -> None:
        """Give new settings to all links between different hosts, those to come included."""
        self._settings_of(faults, &self._all)
        self._apply_to_all(NO_HOST, NO_HOST, &self._all)

    def get(self, source, destination):
        """Return the settings of a link."""
        return <object>self._existing(self.host_of(source), self.host_of(destination)).settings.faults

    def clog(self, source, destination, duration_ns) -> None:
        """Let a link deliver nothing for a time from now on, and then all that has come to it."""
        cdef Link* link = self._existing(self.host_of(source), self.host_of(destination))
        cdef int64_t length_ns = whole_number("duration_ns", duration_ns, 0, TIME_NS_MAX, where="LinkTable.clog")
        link.held_from_ns = self._clock.nano_time()
        link.held_until_ns = link.held_from_ns + length_ns

    def counts(self, source=None, destination=None):
        """Return what a link has carried; None stands for every source or destination."""
        cdef int first = NO_HOST if source is None else self.host_of(source)
        cdef int second = NO_HOST if destination is None else self.host_of(destination)
        cdef int host, other
        cdef Link* link
        found = {"sent": 0, "duplicated": 0, "replayed": 0, "copied": 0, "delivered": 0, "refused": 0, "in_flight": 0}
        lost = dict.fromkeys(LossCause, 0)
        for host in range(self.record_count):
            for other in range(self.records[host].link_count):
                link = self.records[host].links[other]
                if link is NULL or first not in (NO_HOST, host) or second not in (NO_HOST, other):
                    continue
                found["sent"] += link.totals.sent
                found["duplicated"] += link.totals.duplicated
                found["replayed"] += link.totals.replayed
                found["copied"] += link.totals.copied
                found["delivered"] += link.totals.delivered
                found["refused"] += link.totals.refused
                found["in_flight"] += link.in_flight
                for cause in LossCause:
                    lost[cause] += link.totals.lost[<int>cause]
        return LinkCounts(**found, lost=lost)

    @property
    def hosts(self) -> tuple:
        """Addresses of the hosts that have had a socket, in the order in which they came to be known."""
        return tuple([self.address_of(host) for host in range(self.record_count) if self.records[host].has_sockets])

    # -- Hosts ---------------------------------------------------------------------------------------------------------------------

    cdef int find_host(self, const Address* address) noexcept nogil:
        cdef int host
        for host in range(self.record_count):
            if same_host(&self.records[host].address, address):
                return host
        return NO_HOST

    cdef int add_host(self, const Address* address) noexcept nogil:
        cdef int host = self.find_host(address)
        if host != NO_HOST:
            return host
        if self.record_count == self._host_capacity and not grow(<void**>&self.records, &self._host_capacity, sizeof(HostRecord), HOSTS_MAX):
            return NO_HOST
        host = self.record_count
        memset(&self.records[host], 0, sizeof(HostRecord))
        self.records[host].address = address[0]
        address_set_port(&self.records[host].address, 0)
        self.record_count += 1
        return host

    cdef int host_of(self, address) except -1:
        cdef Address parsed
        cdef int host
        if not isinstance(address, str):
            raise wrong_type("address", address, "a numeric address as text", "a host of the network")
        try:
            address_from(&parsed, (address, 0))
        except (OSError, ValueError):
            raise ConfigurationError("not an address", where="a host of the network", expected="a numeric address", actual=address) from None
        host = self.add_host(&parsed)
        if host == NO_HOST:
            raise MemoryError("host table")
        return host

    cdef str address_of(self, int host):
        return address_to(&self.records[host].address)[0]

    cdef int exchange_addresses(self, int host, int other) noexcept nogil:
        cdef Address address = self.records[host].address
        self.records[host].address = self.records[other].address
        self.records[other].address = address
        return 0

    # -- Links ---------------------------------------------------------------------------------------------------------------------

    cdef Link* between(self, int source, int destination) noexcept nogil:
        cdef HostRecord* host = &self.records[source]
        if destination < host.link_count and host.links[destination] is not NULL:
            return host.links[destination]
        return self._made(source, destination)

    cdef Link* _made(self, int source, int destination) noexcept nogil:
        cdef HostRecord* host = &self.records[source]
        cdef const LinkSettings* settings = &self._loopback if source == destination else &self._all
        cdef Link** links
        cdef Link* link
        if destination >= host.link_count:
            links = <Link**>realloc(host.links, self.record_count * sizeof(Link*))
            if links is NULL:
                return NULL
            memset(&links[host.link_count], 0, (self.record_count - host.link_count) * sizeof(Link*))
            host.links = links
            host.link_count = self.record_count
        link = <Link*>calloc(1, sizeof(Link))
        if link is NULL:
            return NULL
        link.source = source
        link.destination = destination
        if source != destination:
            if host.outgoing.sequence > settings.sequence:
                settings = &host.outgoing
            if self.records[destination].incoming.sequence > settings.sequence:
                settings = &self.records[destination].incoming
        self._apply(link, settings)
        host.links[destination] = link
        return link

    cdef void _apply(self, Link* link, const LinkSettings* settings) noexcept nogil:
        link.settings = settings[0]
        link.clog_start_ns = link.clog_end_ns = self._clock.nano_time()
        if settings.replay == 0.0:
            forget_packets(link)

    cdef int64_t clogged_until(self, Link* link, int64_t at_ns) noexcept nogil:
        # Cloggings are drawn one after the other, as far as they are asked for.
        cdef const LinkSettings* settings = &link.settings
        if link.held_from_ns <= at_ns < link.held_until_ns:
            return link.held_until_ns
        if settings.clog_interval_ns == 0:
            return at_ns
        while link.clog_end_ns <= at_ns:
            link.clog_start_ns = link.clog_end_ns + draw_exponential(self._random, settings.clog_interval_ns, INT64_MAX) + 1
            link.clog_end_ns = link.clog_start_ns + draw_exponential(self._random, settings.clog_mean_ns, settings.clog_max_ns)
        return link.clog_end_ns if link.clog_start_ns <= at_ns else at_ns

    cdef list pairs_of(self, partition):
        return [(self.host_of(source), self.host_of(destination)) for source, destination in partition.cuts]

    cdef int cut(self, list pairs, int change) except -1:
        for source, destination in pairs:
            self._existing(source, destination).cuts += change
        return 0

    cdef Link* _existing(self, int source, int destination) except NULL:
        cdef Link* link = self.between(source, destination)
        if link is NULL:
            raise MemoryError("link table")
        return link

    cdef int _settings_of(self, faults, LinkSettings* out) except -1:
        if not isinstance(faults, LinkFaults):
            raise wrong_type("faults", faults, "LinkFaults", "LinkTable")
        settings_from(out, faults)
        held = self._held.setdefault(faults, faults)
        out.faults = <void*>held
        self._sequence += 1
        out.sequence = self._sequence
        return 0

    cdef void _apply_to_all(self, int source, int destination, const LinkSettings* settings) noexcept nogil:
        cdef int host, other
        for host in range(self.record_count):
            for other in range(self.records[host].link_count):
                if self.records[host].links[other] is NULL or host == other:
                    continue
                if (source == NO_HOST or source == host) and (destination == NO_HOST or destination == other):
                    self._apply(self.records[host].links[other], settings)


cdef int settings_from(LinkSettings* out, faults) except -1:
    memset(out, 0, sizeof(LinkSettings))
    out.loss = faults.loss
    out.duplicate = faults.duplicate
    out.replay = faults.replay
    out.reorder = faults.reorder
    out.send_error = faults.send_error
    out.reorder_ns = faults.reorder_ns
    out.latency_ns = faults.latency_ns
    out.jitter_ns = faults.jitter_ns
    out.jitter_max_ns = faults.longest_jitter_ns
    out.clog_interval_ns = faults.clog_interval_ns
    out.clog_mean_ns = faults.clog_mean_ns
    out.clog_max_ns = faults.clog_max_ns
    out.bytes_per_second = faults.bytes_per_second
    out.queue_length = faults.queue_length
    out.drops_oldest = faults.drops_oldest
    for value in faults.send_errors[:ERRORS_MAX]:
        out.errors[out.error_count] = value
        out.error_count += 1
    return 0


cdef void forget_packets(Link* link) noexcept nogil:
    while link.remembered_count > 0:
        link.remembered_count -= 1
        free(link.remembered[link.remembered_count])
        link.remembered[link.remembered_count] = NULL
    link.remembered_next = 0
