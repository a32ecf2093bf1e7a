"""The frames of one block that go into a result, and all that their columns are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aerowire.pcap.arrays.blocks import Gather, Integers, Mask, PacketBlock
from aerowire.pcap.frames.frames import Frames
from aerowire.pcap.packets.datagrams import Datagrams
from aerowire.pcap.packets.flows import FlowTable, Link
from aerowire.pcap.packets.link_layers import DIRECTIONS, driver_directions


@dataclass(eq=False)
class Selection:
    """Frames of one block that go into the result, and all that their columns are made of."""

    block: PacketBlock
    gather: Gather
    datagrams: Datagrams
    links: Integers  # link number of each datagram
    flows: FlowTable
    frames: Frames
    chosen: Integers  # indexes of the frames
    path: str

    def take(self, keep: Mask) -> Selection:
        """Return the selection of some of its frames."""
        return replace(self, chosen=self.chosen[keep])

    @cached_property
    def owners(self) -> Integers:
        return self.frames.datagrams[self.chosen]

    @cached_property
    def packets(self) -> Integers:
        return self.datagrams.rows[self.owners]

    @cached_property
    def distinct_links(self) -> tuple[list[Link], Integers]:
        """The links of the selected frames, and each frame's index among them."""
        numbers = self.links[self.owners]
        present = np.flatnonzero(np.bincount(numbers))
        places = np.zeros(self.flows.link_count, dtype=np.int64)
        places[present] = np.arange(present.size)
        return [self.flows.endpoints(number) for number in present.tolist()], places[numbers]

    @cached_property
    def interfaces(self) -> tuple[list[str | None], Integers] | None:
        """Return names of interfaces, and for each frame the index of its interface's name; None if the capture names no interfaces."""
        if self.block.interfaces is not None:
            return [name or None for name in self.block.interface_names], self.block.interfaces[self.packets]
        directions, own = driver_directions(self.block, self.gather, self.packets)
        return ([*DIRECTIONS, None], np.where(own, directions, len(DIRECTIONS))) if own.any() else None
