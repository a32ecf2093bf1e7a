from typing import final

from aerowire.base.ports import DatagramPort

@final
class SplitPort(DatagramPort):
    def __init__(self, sending: DatagramPort, receiving: DatagramPort) -> None: ...
    @property
    def sending(self) -> DatagramPort: ...
    @property
    def receiving(self) -> DatagramPort: ...
