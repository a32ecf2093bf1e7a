"""From captured packets to UDP datagrams: link layer, VLAN tags, IPv4 with options, IPv6 with extension headers, UDP.

Works on whole blocks of packets.  Every packet that is no whole UDP datagram is counted under a reason.  It knows nothing of Aeron.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aerowire.pcap.arrays.blocks import Bytes, Gather, Integers, Mask, PacketBlock
from aerowire.pcap.packets.datagrams import Datagrams, merged
from aerowire.pcap.packets.fragments import Fragments, Reassembler
from aerowire.pcap.statistics import Statistics

try:
    from aerowire.pcap.packets.plain_datagrams import find_plain_datagrams
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.packets.plain_datagrams_fallback import find_plain_datagrams

IP4, IP6 = 0x0800, 0x86DD
VLAN_TAGS = (0x8100, 0x88A8, 0x9100, 0x9200)
VLAN_TAGS_MAX = 4  # stacked; more has no use on any network
UDP = 17
KEY4_LENGTH, KEY6_LENGTH = 12, 36  # addresses, then ports
EXTENSION_HEADERS_MAX = 8  # as many kinds as exist; each may stand once (destination options twice)
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS, MOBILITY, NO_NEXT = 0, 43, 44, 51, 60, 135, 59
ADDRESS_FAMILIES = {2: IP4, 10: IP6, 24: IP6, 28: IP6, 30: IP6}  # AF_INET6 differs from system to system
# Where the protocol stands in a link header, and the header's length.
FIXED_LINK_LAYERS = {1: (12, 14), 113: (14, 16), 276: (0, 20)}
NULL, LOOP, RAW, ONLY_IP4, ONLY_IP6, ETHERNET = 0, 108, 101, 228, 229, 1
RAW_OTHERS = (12, 14)  # raw IP as some systems number it
# A capture that a driver of this project writes marks what induced loss dropped: by this Ethernet source in a classic file, by the
# interface's name in pcapng.
DROPPED_SOURCE = bytes.fromhex("02000000000d")
# As two integers: NumPy compares those at once, and bytes one by one.
SOURCE_ADDRESS = np.dtype([("start", "<u4"), ("end", "<u2")])
DROPPED_MARK = np.frombuffer(DROPPED_SOURCE, dtype=SOURCE_ADDRESS)[0]
DROPPED_INTERFACES = frozenset(("sent-dropped", "received-dropped"))
# In such a classic file the destination tells the direction; these are the names that its pcapng form gives to its interfaces.
DIRECTIONS = ("sent", "sent-dropped", "received", "received-dropped")
DRIVER_ADDRESSES = np.dtype([("to", "V5"), ("direction", "u1"), ("source", "V5"), ("mark", "u1")])
DRIVER_DESTINATION, DRIVER_SOURCE = np.void(bytes.fromhex("0200000001")), np.void(DROPPED_SOURCE[:5])


def decode(block: PacketBlock, gather: Gather, statistics: Statistics, reassembler: Reassembler) -> Datagrams:
    """Return the block's whole UDP datagrams; count every other packet.

    What `reassembler` puts together is appended to the buffer of `block` and `gather`.
    """
    statistics.packets += block.count
    statistics.captured_bytes += int((block.ends - block.starts).sum())
    plain = _plain(block)
    left = np.ones(block.count, dtype=bool)
    left[plain.rows] = False
    return merged(plain, _decode(block, gather, np.flatnonzero(left), statistics, reassembler)) if plain.count < block.count else plain


def _plain(block: PacketBlock) -> Datagrams:
    """Return the block's simple datagrams."""
    kind = _one_kind(block.link_types)
    where, length = FIXED_LINK_LAYERS.get(-1 if kind is None else kind, (0, 0))
    mark = DROPPED_SOURCE if kind == ETHERNET and block.interfaces is None else b""
    none = np.empty(0, dtype=np.int64)
    starts, ends = (block.starts, block.ends) if length else (none, none)
    rows, begins, lengths, captured_ends, keys4, keys6, is_ip6, dropped = find_plain_datagrams(
        block.buffer, starts, ends, where, length, mark
    )
    if block.interfaces is not None:
        dropped = _dropped(block, Gather(block.buffer), rows)
    return Datagrams(rows, begins, lengths, captured_ends, keys4, keys6, is_ip6, dropped)


def _one_kind(link_types: Integers) -> int | None:
    """Return the link type of all packets, None where there are several, or no packets."""
    if not link_types.size or (link_types.strides != (0,) and (link_types != link_types[0]).any()):
        return None
    return int(link_types[0])


def _decode(block: PacketBlock, gather: Gather, rows: Integers, statistics: Statistics, reassembler: Reassembler) -> Datagrams:
    """Return the datagrams of some packets, whatever stands in them."""
    rows, network, protocol = _link_layer(block, gather, rows, statistics)
    four, fragments4 = _ip4(gather, rows[protocol == IP4], network[protocol == IP4], block.ends, statistics)
    six, fragments6 = _ip6(gather, rows[protocol == IP6], network[protocol == IP6], block.ends, statistics)
    segments = [
        _with_fragments(block, gather, segment, fragments, statistics, reassembler)
        for segment, fragments in ((four, fragments4), (six, fragments6))
    ]
    parts = []
    for segment, is_ip6 in zip(segments, (False, True), strict=True):
        found, starts, lengths, captured_ends, keys = _udp(gather, segment, statistics)
        none = np.empty((0, KEY4_LENGTH if is_ip6 else KEY6_LENGTH), dtype=np.uint8)
        keys4, keys6 = (none, keys) if is_ip6 else (keys, none)
        dropped = _dropped(block, gather, found)
        parts.append(Datagrams(found, starts, lengths, captured_ends, keys4, keys6, np.full(found.size, is_ip6), dropped))
    return merged(*parts)


def prime(block: PacketBlock, gather: Gather, reassembler: Reassembler) -> None:
    """Show `reassembler` a block's fragments, of which nothing else is wanted."""
    decode(block, gather, Statistics(), reassembler)


def _with_fragments(
    block: PacketBlock, gather: Gather, segment: Segment, fragments: Fragments, statistics: Statistics, reassembler: Reassembler
) -> Segment:
    """Return a segment together with the datagrams that its fragments complete, in file order."""
    made = reassembler.add(gather.buffer, fragments, block.positions)
    statistics.reassembled_datagrams += len(made.rows)
    statistics.reassembled_fragments += made.fragment_count
    statistics.skip("IP fragment", fragments.rows.size - len(made.rows))
    if not made.rows:
        return segment
    rows, starts, packet_ends, ends, addresses = segment
    bodies = np.frombuffer(b"".join(made.bodies), dtype=np.uint8)
    captured = np.array([len(body) for body in made.bodies], dtype=np.int64)
    at = gather.buffer.size + np.concatenate([[0], np.cumsum(captured)[:-1]])
    block.buffer = gather.buffer = np.concatenate([gather.buffer, bodies])
    keys = np.frombuffer(b"".join(made.keys), dtype=np.uint8).reshape(len(made.keys), -1)[:, : addresses.shape[1]]
    columns = (
        np.concatenate([rows, np.array(made.rows, dtype=np.int64)]),
        np.concatenate([starts, at]),
        np.concatenate([packet_ends, at + np.array(made.lengths, dtype=np.int64)]),
        np.concatenate([ends, at + captured]),
        np.concatenate([addresses, keys]),
    )
    order = np.argsort(columns[0], kind="stable")
    return columns[0][order], columns[1][order], columns[2][order], columns[3][order], columns[4][order]


def _link_layer(block: PacketBlock, gather: Gather, rows: Integers, statistics: Statistics) -> tuple[Integers, Integers, Integers]:
    """Return (row, offset of the network header, its ethertype) of the IP packets among some."""
    network, protocol = block.starts[rows], np.zeros(rows.size, dtype=np.int64)
    kinds, ends = block.link_types[rows], block.ends[rows]
    for kind in np.unique(kinds).tolist():
        _link_layer_of_kind(kind, np.flatnonzero(kinds == kind), gather, ends, (network, protocol))
    for _ in range(VLAN_TAGS_MAX):
        tagged = np.flatnonzero((protocol >= min(VLAN_TAGS)) & np.isin(protocol, VLAN_TAGS))
        if not tagged.size:
            break
        short = ends[tagged] - network[tagged] < 4
        protocol[tagged[short]] = -1
        tagged = tagged[~short]
        protocol[tagged] = gather.integers(">u2", network[tagged] + 2)
        network[tagged] += 4
    statistics.skip("truncated packet", int((protocol == -1).sum()))
    statistics.skip("unknown link type", int((protocol == -2).sum()))
    is_ip = (protocol == IP4) | (protocol == IP6)
    statistics.skip("not IP", int((~is_ip & (protocol >= 0)).sum()))
    return rows[is_ip], network[is_ip], protocol[is_ip]


def _link_layer_of_kind(kind: int, rows: Integers, gather: Gather, ends: Integers, found: tuple[Integers, Integers]) -> None:
    """Fill in network offset and ethertype for packets of one link type; -1 truncated, -2 unknown."""
    network, protocol = found
    if kind in FIXED_LINK_LAYERS:
        where, length = FIXED_LINK_LAYERS[kind]
    elif kind in (NULL, LOOP):
        where, length = 0, 4
    elif kind in (RAW, ONLY_IP4, ONLY_IP6, *RAW_OTHERS):
        where, length = 0, 1
    else:
        protocol[rows] = -2
        return
    whole = ends[rows] - network[rows] >= length
    protocol[rows[~whole]] = -1
    rows = rows[whole]
    at = network[rows]
    if kind in FIXED_LINK_LAYERS:
        protocol[rows] = gather.integers(">u2", at + where)
        network[rows] += length
    elif kind in (NULL, LOOP):
        # Stored by the capturing machine in its own order: the family is small, so one of the two readings is.
        little, big = gather.integers("<u4", at), gather.integers(">u4", at)
        family = np.minimum(little, big)
        network[rows] += length
        for number, ethertype in ADDRESS_FAMILIES.items():
            protocol[rows[family == number]] = ethertype
    else:
        version = gather.u8(at) >> 4
        wanted = {ONLY_IP4: (4,), ONLY_IP6: (6,)}.get(kind, (4, 6))
        for number, ethertype in ((4, IP4), (6, IP6)):
            if number in wanted:
                protocol[rows[version == number]] = ethertype


IP4_HEADER = np.dtype(
    {
        "names": ["version", "total", "id", "fragment", "protocol", "addresses"],
        "formats": ["u1", ">u2", "V2", ">u2", "u1", "V8"],
        "offsets": [0, 2, 4, 6, 9, 12],
        "itemsize": 20,
    }
)
IP6_HEADER = np.dtype(
    {"names": ["version", "length", "next", "addresses"], "formats": ["u1", ">u2", "u1", "V32"], "offsets": [0, 4, 6, 8], "itemsize": 40}
)
FRAGMENT_HEADER = np.dtype({"names": ["field", "id"], "formats": [">u2", ">u4"], "offsets": [2, 4], "itemsize": 8})
UDP_HEADER = np.dtype({"names": ["ports", "length"], "formats": ["V4", ">u2"], "offsets": [0, 4], "itemsize": 8})

Records = npt.NDArray[np.void]
# row, offset of the UDP header, end of the IP packet, end of what was captured, address bytes
Segment = tuple[Integers, Integers, Integers, Integers, Bytes]


def _ip4(gather: Gather, rows: Integers, at: Integers, ends: Integers, statistics: Statistics) -> tuple[Segment, Fragments]:
    whole = ends[rows] - at >= 20
    statistics.skip("truncated packet", int((~whole).sum()))
    rows, at = rows[whole], at[whole]
    header = gather.structs(IP4_HEADER, at)
    version, total = header["version"], header["total"].astype(np.int64)
    header_length = (version & 15).astype(np.int64) * 4
    total = np.where(total == 0, ends[rows] - at, total)  # segmentation offload leaves the field empty
    bad = ((version >> 4) != 4) | (header_length < 20) | (total < header_length)
    other = ~bad & (header["protocol"] != UDP)
    part = ~bad & ~other & ((header["fragment"] & 0x3FFF) != 0)
    for reason, mask in (("bad IP header", bad), ("not UDP", other)):
        statistics.skip(reason, int(mask.sum()))
    good = ~(bad | other | part)
    fragments = _fragments4(rows[part], at[part], header[part], (header_length[part], total[part]), ends)
    if not good.all():
        rows, at, header, header_length, total = rows[good], at[good], header[good], header_length[good], total[good]
    return (rows, at + header_length, at + total, ends[rows], _raw(header, 12, 8)), fragments


def _fragments4(rows: Integers, at: Integers, header: Records, lengths: tuple[Integers, Integers], ends: Integers) -> Fragments:
    header_length, total = lengths
    field = header["fragment"].astype(np.int64)
    keys = np.concatenate([_raw(header, 12, 8), _raw(header, 4, 2)], axis=1)
    starts = at + header_length
    return Fragments(
        rows=rows,
        keys=keys,
        starts=starts,
        captured_ends=np.clip(ends[rows], starts, at + total),
        lengths=total - header_length,
        offsets=(field & 0x1FFF) * 8,
        more=(field & 0x2000) != 0,
    )


def _ip6(gather: Gather, rows: Integers, at: Integers, ends: Integers, statistics: Statistics) -> tuple[Segment, Fragments]:
    whole = ends[rows] - at >= 40
    statistics.skip("truncated packet", int((~whole).sum()))
    rows, at = rows[whole], at[whole]
    header = gather.structs(IP6_HEADER, at)
    length = header["length"].astype(np.int64)
    packet_end = np.where(length == 0, ends[rows], at + 40 + length)  # a jumbogram, or segmentation offload, leaves the field empty
    following, position = header["next"].astype(np.int64), at + 40
    bad = (header["version"] >> 4) != 6
    part, short = np.zeros(rows.size, dtype=bool), np.zeros(rows.size, dtype=bool)
    fragment_at = np.zeros(rows.size, dtype=np.int64)
    for _ in range(EXTENSION_HEADERS_MAX):
        extended = np.flatnonzero(
            np.isin(following, (HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS, MOBILITY)) & ~bad & ~part & ~short
        )
        if not extended.size:
            break
        cut = ends[rows[extended]] - position[extended] < 8
        short[extended[cut]] = True
        extended = extended[~cut]
        kind, where = following[extended], position[extended]
        units = gather.u8(where + 1)
        offset_and_more = gather.integers(">u2", where + 2) & 0xFFF9
        part[extended[(kind == FRAGMENT) & (offset_and_more != 0)]] = True
        fragment_at[extended[kind == FRAGMENT]] = where[kind == FRAGMENT]
        following[extended] = gather.u8(where)
        position[extended] += np.where(kind == FRAGMENT, 8, np.where(kind == AUTHENTICATION, (units + 2) * 4, (units + 1) * 8))
    other = ~bad & ~short & (following != UDP)  # of a fragment, what follows its header is the datagram's own
    part &= ~other
    for reason, mask in (("bad IP header", bad), ("not UDP", other), ("truncated packet", short)):
        statistics.skip(reason, int(mask.sum()))
    fragments = _fragments6(gather, rows[part], header[part], (fragment_at[part], packet_end[part]), ends)
    good = ~(bad | other | part | short)
    return (rows[good], position[good], packet_end[good], ends[rows[good]], _raw(header[good], 8, 32)), fragments


def _fragments6(gather: Gather, rows: Integers, header: Records, where: tuple[Integers, Integers], ends: Integers) -> Fragments:
    at, packet_end = where
    field = gather.structs(FRAGMENT_HEADER, at)
    starts = at + FRAGMENT_HEADER.itemsize
    return Fragments(
        rows=rows,
        keys=np.concatenate([_raw(header, 8, 32), _raw(field, 4, 4)], axis=1),
        starts=starts,
        captured_ends=np.clip(ends[rows], starts, np.maximum(packet_end, starts)),
        lengths=np.maximum(packet_end - starts, 0),
        offsets=(field["field"] & 0xFFF8).astype(np.int64),
        more=(field["field"] & 1) != 0,
    )


def _raw(records: Records, offset: int, length: int) -> Bytes:
    """Return bytes [offset, offset + length) of each record as a matrix."""
    flat = np.ascontiguousarray(records).view(np.uint8).reshape(-1, records.dtype.itemsize)
    return flat[:, offset : offset + length]


def _udp(gather: Gather, segment: Segment, statistics: Statistics) -> tuple[Integers, Integers, Integers, Integers, Bytes]:
    """Return (row, start of payload, its length, end of what was captured of it, key) of whole datagrams."""
    rows, at, packet_end, ends, addresses = segment
    whole = ends - at >= 8
    statistics.skip("truncated packet", int((~whole).sum()))
    if not whole.all():
        rows, at, packet_end, ends, addresses = rows[whole], at[whole], packet_end[whole], ends[whole], addresses[whole]
    header = gather.structs(UDP_HEADER, at)
    length = header["length"].astype(np.int64)
    length = np.where(length == 0, packet_end - at, length)
    good = (length >= 8) & (at + length <= packet_end)
    statistics.skip("bad UDP length", int((~good).sum()))
    if not good.all():
        rows, at, ends, addresses, header, length = rows[good], at[good], ends[good], addresses[good], header[good], length[good]
    keys = np.concatenate([addresses, _raw(header, 0, 4)], axis=1)
    starts = at + 8
    return rows, starts, length - 8, np.minimum(ends, at + length), keys


def _dropped(block: PacketBlock, gather: Gather, rows: Integers) -> Mask:
    if block.interfaces is not None:
        marked = np.array([name in DROPPED_INTERFACES for name in block.interface_names] or [False])
        return np.asarray(marked[block.interfaces[rows]], dtype=bool)
    if rows.size == 0 or int(block.link_types[0]) != ETHERNET:
        return np.zeros(rows.size, dtype=bool)
    marks = gather.structs(SOURCE_ADDRESS, block.starts[rows] + SOURCE_ADDRESS.itemsize)
    return np.asarray((marks["end"] == DROPPED_MARK["end"]) & (marks["start"] == DROPPED_MARK["start"]), dtype=bool)


def driver_directions(block: PacketBlock, gather: Gather, rows: Integers) -> tuple[Integers, Mask]:
    """Return the index into DIRECTIONS of some packets of a classic capture, and which of them a driver of this project captured."""
    if rows.size == 0 or int(block.link_types[0]) != ETHERNET:
        return np.zeros(rows.size, dtype=np.int64), np.zeros(rows.size, dtype=bool)
    addresses = gather.structs(DRIVER_ADDRESSES, block.starts[rows])
    own = (addresses["to"] == DRIVER_DESTINATION) & (addresses["source"] == DRIVER_SOURCE) & (addresses["direction"] < 2)
    return np.where(own, addresses["direction"] * 2 + (addresses["mark"] == DROPPED_SOURCE[-1]), 0).astype(np.int64), own
