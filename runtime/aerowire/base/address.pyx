"""Socket addresses: between Python's (host, port) pairs and the plain C value that datagrams carry.

Hosts are numeric here; looking names up is the control plane's work.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memset

import socket

AddressTuple = tuple[str, int] | tuple[str, int, int, int] | None


cdef int address_from(Address* out, object value) except -1:
    memset(out, 0, sizeof(Address))
    if value is None:
        return 0
    host, port = value[0], value[1]
    scope = value[3] if len(value) > 3 else 0
    if not 0 <= port <= 0xFFFF:
        raise ValueError(f"port: expected 0 to 65535, actual {port}")
    if ":" in host:
        host, _, zone = host.partition("%")
        if zone and not scope:
            scope = int(zone)
        packed = socket.inet_pton(socket.AF_INET6, host)
        address_set_v6(out, <const uint8_t*><const char*>packed, <uint16_t>port, <uint32_t>scope)
    else:
        address_set_v4(out, int.from_bytes(socket.inet_pton(socket.AF_INET, host), "big"), <uint16_t>port)
    return 0


cdef object address_to(const Address* a):
    cdef int family = address_family(a)
    cdef const uint8_t* ip
    if family == 0:
        return None
    ip = address_ip(a)
    if family == AF_INET:
        return f"{ip[0]}.{ip[1]}.{ip[2]}.{ip[3]}", address_port(a)
    text = socket.inet_ntop(socket.AF_INET6, ip[:16])
    scope = address_scope(a)
    return f"{text}%{scope}" if scope else text, address_port(a)


cpdef str address_text(object value):
    """Render (host, port) as Aeron writes it: `127.0.0.1:40123`, `[::1]:40123`; None is the empty string."""
    cdef Address address
    address_from(&address, value)
    return address_render(&address)


cdef str address_render(const Address* a):
    pair = address_to(a)
    if pair is None:
        return ""
    return f"[{pair[0]}]:{pair[1]}" if ":" in pair[0] else f"{pair[0]}:{pair[1]}"


def parse_and_return(value):
    """Send `value` through the C form and back; for tests."""
    cdef Address address
    address_from(&address, value)
    return address_to(&address)


def is_multicast(value) -> bool:
    """Whether (host, port) names a multicast group."""
    cdef Address address
    address_from(&address, value)
    return address_is_multicast(&address)


def equals(left, right) -> bool:
    """Whether two (host, port) values are one endpoint."""
    cdef Address first
    cdef Address second
    address_from(&first, left)
    address_from(&second, right)
    return address_equals(&first, &second)
