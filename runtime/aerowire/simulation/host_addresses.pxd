# Addresses as names of hosts: without their ports.

from libc.stdint cimport uint8_t
from libc.string cimport memcmp
from aerowire.base.address cimport Address, address_ip


# Octets of the IP address. A sockaddr of IPv4 is shorter than one of IPv6.
cdef inline int ip_length(const Address* address) noexcept nogil:
    return 4 if address.length < 20 else 16


cdef inline bint same_host(const Address* a, const Address* b) noexcept nogil:
    return a.length == b.length and memcmp(address_ip(a), address_ip(b), ip_length(a)) == 0


# 127.0.0.0/8 and ::1
cdef inline bint is_loopback(const Address* address) noexcept nogil:
    cdef const uint8_t* ip = address_ip(address)
    cdef int i
    if ip_length(address) == 4:
        return ip[0] == 127
    for i in range(15):
        if ip[i] != 0:
            return False
    return ip[15] == 1
