from aerowire.base.ports import DatagramPort

class ChannelEndpoint:
    ttl: int
    channel: str
    def close(self) -> None: ...
    @property
    def port(self) -> DatagramPort | None: ...
    @property
    def local_address(self) -> tuple[str, int] | None: ...
