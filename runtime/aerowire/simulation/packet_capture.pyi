from os import PathLike
from typing import final

from aerowire.base.ports import ClockPort
from aerowire.simulation.packet_trace import PacketTrace

@final
class PacketCapture(PacketTrace):
    def __init__(self, path: str | PathLike[str], clock: ClockPort, *, overwrites: bool = False) -> None: ...
    def close(self) -> None: ...
