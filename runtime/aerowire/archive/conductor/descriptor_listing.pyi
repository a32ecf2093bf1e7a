from typing import final

from typing_extensions import Buffer

from aerowire.archive.files.catalog_index import CatalogIndex
from aerowire.client.publications.publication import ExclusivePublication

@final
class DescriptorListing:
    def __init__(
        self,
        head: bytes,
        from_id: int,
        count: int,
        *,
        end_id: int | None = None,
        stream_id: int | None = None,
        channel_fragment: bytes = b"",
        patience: int = 0,
    ) -> None: ...
    @property
    def next_id(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def sent(self) -> int: ...
    @property
    def refusal(self) -> int: ...
    @property
    def is_exhausted(self) -> bool: ...
    def send(self, publication: ExclusivePublication, index: CatalogIndex, data: Buffer) -> int: ...
