from typing import final

from aerowire.base.ports import DatagramPort
from aerowire.driver.media.capture import CaptureWriter

@final
class CaptureTap:
    def __init__(self, writer: CaptureWriter, *, local: tuple[str, int], remote: tuple[str, int] | None = None) -> None: ...

class OuterPort(DatagramPort): ...

@final
class CapturePort(OuterPort):
    def __init__(self, inner: DatagramPort, tap: CaptureTap) -> None: ...
