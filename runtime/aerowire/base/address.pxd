# A socket address as a plain C value: what datagrams carry between ports and machines. No OS calls here.

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memcpy

cdef extern from *:
    """
    #ifndef AEROWIRE_ADDRESS
    #define AEROWIRE_ADDRESS
    #include <stdint.h>
    #include <string.h>
    #include <sys/socket.h>
    #include <netinet/in.h>
    #include <arpa/inet.h>
    typedef struct aw_address {
        uint32_t length;            /* of the sockaddr; 0 = no address */
        union { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; uint8_t bytes[sizeof(struct sockaddr_in6)]; } u;
    } aw_address;
    static inline int aw_address_family(const aw_address *a) { return a->length ? a->u.any.sa_family : 0; }
    static inline uint16_t aw_address_port(const aw_address *a)
    { return !a->length ? 0 : ntohs(a->u.any.sa_family == AF_INET6 ? a->u.v6.sin6_port : a->u.v4.sin_port); }
    static inline void aw_address_set_port(aw_address *a, uint16_t port)
    { if (a->u.any.sa_family == AF_INET6) a->u.v6.sin6_port = htons(port); else a->u.v4.sin_port = htons(port); }
    static inline const uint8_t *aw_address_ip(const aw_address *a)
    { return a->u.any.sa_family == AF_INET6 ? (const uint8_t *)&a->u.v6.sin6_addr : (const uint8_t *)&a->u.v4.sin_addr; }
    static inline int aw_address_equals(const aw_address *a, const aw_address *b)
    {
        if (a->length != b->length) return 0;
        if (!a->length) return 1;
        if (a->u.any.sa_family != b->u.any.sa_family) return 0;
        if (a->u.any.sa_family == AF_INET6)
            return a->u.v6.sin6_port == b->u.v6.sin6_port && a->u.v6.sin6_scope_id == b->u.v6.sin6_scope_id
                && !memcmp(&a->u.v6.sin6_addr, &b->u.v6.sin6_addr, sizeof(a->u.v6.sin6_addr));
        return a->u.v4.sin_port == b->u.v4.sin_port && a->u.v4.sin_addr.s_addr == b->u.v4.sin_addr.s_addr;
    }
    static inline int aw_address_is_multicast(const aw_address *a)
    {
        if (!a->length) return 0;
        return a->u.any.sa_family == AF_INET6 ? aw_address_ip(a)[0] == 0xFF : (aw_address_ip(a)[0] & 0xF0) == 0xE0;
    }
    static inline void aw_address_v4(aw_address *a, uint32_t host_order_ip, uint16_t port)
    {
        memset(a, 0, sizeof(*a)); a->length = sizeof(struct sockaddr_in); a->u.v4.sin_family = AF_INET;
        a->u.v4.sin_addr.s_addr = htonl(host_order_ip); a->u.v4.sin_port = htons(port);
    }
    static inline void aw_address_v6(aw_address *a, const uint8_t *ip16, uint16_t port, uint32_t scope)
    {
        memset(a, 0, sizeof(*a)); a->length = sizeof(struct sockaddr_in6); a->u.v6.sin6_family = AF_INET6;
        memcpy(&a->u.v6.sin6_addr, ip16, 16); a->u.v6.sin6_port = htons(port); a->u.v6.sin6_scope_id = scope;
    }
    static inline uint32_t aw_address_scope(const aw_address *a) { return a->u.v6.sin6_scope_id; }
    static inline void *aw_address_sockaddr(const aw_address *a) { return (void *)&a->u; }
    #endif
    """
    ctypedef struct Address "aw_address":
        uint32_t length                                                            # 0 = none; else sockaddr length
    int address_family "aw_address_family"(const Address* a) noexcept nogil         # AF_INET, AF_INET6 or 0
    uint16_t address_port "aw_address_port"(const Address* a) noexcept nogil        # host order
    void address_set_port "aw_address_set_port"(Address* a, uint16_t port) noexcept nogil
    const uint8_t* address_ip "aw_address_ip"(const Address* a) noexcept nogil      # 4 or 16 octets, network order
    bint address_equals "aw_address_equals"(const Address* a, const Address* b) noexcept nogil
    bint address_is_multicast "aw_address_is_multicast"(const Address* a) noexcept nogil
    void address_set_v4 "aw_address_v4"(Address* a, uint32_t host_order_ip, uint16_t port) noexcept nogil
    void address_set_v6 "aw_address_v6"(Address* a, const uint8_t* ip16, uint16_t port, uint32_t scope) noexcept nogil
    uint32_t address_scope "aw_address_scope"(const Address* a) noexcept nogil      # IPv6 only
    void* address_sockaddr "aw_address_sockaddr"(const Address* a) noexcept nogil   # struct sockaddr*, for system/ only
    enum: AF_INET
    enum: AF_INET6

# Python faces (with the GIL). `value` is None, (host, port) or (host, port, flow, scope) with a numeric host. ValueError otherwise.
cdef int address_from(Address* out, object value) except -1
cdef object address_to(const Address* a)          # (ip text, port), or None
cpdef str address_text(object value)              # "127.0.0.1:40123", "[::1]:40123"; value as for address_from
cdef str address_render(const Address* a)         # the same from a native address
