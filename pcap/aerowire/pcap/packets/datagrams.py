"""UDP datagrams as arrays: the form in which they go from the network decoders to whoever looks into them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Integers, Mask


@dataclass(slots=True)
class Datagrams:
    """UDP datagrams of one block, in file order, grouped by nothing.

    Invariant: starts <= captured_ends <= starts + lengths; rows index the block's packets.
    """

    rows: Integers
    starts: Integers
    lengths: Integers  # as sent
    captured_ends: Integers
    keys4: Bytes  # (n4, 12): address and port pairs of the IPv4 rows
    keys6: Bytes  # (n6, 36)
    is_ip6: Mask
    dropped: Mask

    @property
    def count(self) -> int:
        return int(self.rows.size)

    def take(self, keep: Mask) -> Datagrams:
        """Return only the datagrams marked in `keep`."""
        return Datagrams(
            self.rows[keep],
            self.starts[keep],
            self.lengths[keep],
            self.captured_ends[keep],
            self.keys4[keep[~self.is_ip6]],
            self.keys6[keep[self.is_ip6]],
            self.is_ip6[keep],
            self.dropped[keep],
        )


def merged(first: Datagrams, second: Datagrams) -> Datagrams:
    """Return both sets of a block's datagrams as one, in file order; where rows are equal, the first set's come first."""
    if not second.count:
        return first
    if not first.count:
        return second
    order = np.argsort(np.concatenate([first.rows, second.rows]), kind="stable")
    is_ip6 = np.concatenate([first.is_ip6, second.is_ip6])[order]
    return Datagrams(
        np.concatenate([first.rows, second.rows])[order],
        np.concatenate([first.starts, second.starts])[order],
        np.concatenate([first.lengths, second.lengths])[order],
        np.concatenate([first.captured_ends, second.captured_ends])[order],
        _keys(first.keys4, second.keys4, ~first.is_ip6, ~second.is_ip6, order),
        _keys(first.keys6, second.keys6, first.is_ip6, second.is_ip6, order),
        is_ip6,
        np.concatenate([first.dropped, second.dropped])[order],
    )


def _keys(first: Bytes, second: Bytes, in_first: Mask, in_second: Mask, order: Integers) -> Bytes:
    """Return the keys of one IP version in the order of the datagrams: those of both sets have places among all."""
    has = np.concatenate([in_first, in_second])
    places = np.cumsum(has) - 1
    out: Bytes = np.concatenate([first, second])[places[order[has[order]]]]
    return out
