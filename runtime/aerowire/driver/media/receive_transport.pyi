from typing import final

from aerowire.base.address import AddressTuple
from aerowire.base.ports import DatagramPort

TRANSPORTS_MAX: int

@final
class ReceiveTransport:
    index: int
    ttl: int
    def __init__(
        self,
        port: DatagramPort,
        *,
        index: int = 0,
        multicast_control: AddressTuple = None,
        explicit_control: AddressTuple = None,
        named_control: bool = False,
        ttl: int = 0,
    ) -> None: ...
    def close(self) -> None: ...
    @property
    def local_address(self) -> tuple[str, int] | None: ...

@final
class ControlChange:
    def __init__(self, transport: ReceiveTransport, address: tuple[str, int] | tuple[str, int, int, int]) -> None: ...
