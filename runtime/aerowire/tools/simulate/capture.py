"""A capture of a simulated world's packets."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from aerowire.base.errors import StorageError

if TYPE_CHECKING:
    from aerowire.simulation.packet_capture import PacketCapture
    from aerowire.simulation.world import SimulatedWorld


class Capture:
    """Writes to a file, or nothing where there is none."""

    def __init__(self, path: Path | None, *, overwrites: bool) -> None:
        """Raises StorageError for a file that is there, unless it may be replaced."""
        if path is not None and path.is_file() and not overwrites:  # a pipe may be there
            hint = "give another file, or --pcap-overwrite to replace it"
            raise StorageError("the capture's file is there", where=str(path), expected="a file that can be made", hint=hint)
        self._path = path
        self._overwrites = overwrites
        self._capture: PacketCapture | None = None

    def follow(self, world: SimulatedWorld) -> None:
        """Write the packets of a world from now on, by its true time."""
        if self._path is not None:
            from aerowire.simulation.packet_capture import PacketCapture

            self._capture = PacketCapture(self._path, world.clock, overwrites=self._overwrites)
            world.network.add_trace(self._capture)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._capture is not None:
            self._capture.close()
