from typing import final

from typing_extensions import Buffer

from aerowire.client.publications.publication_base import ADMIN_ACTION as ADMIN_ACTION
from aerowire.client.publications.publication_base import BACK_PRESSURED as BACK_PRESSURED
from aerowire.client.publications.publication_base import CLOSED as CLOSED
from aerowire.client.publications.publication_base import MAX_POSITION_EXCEEDED as MAX_POSITION_EXCEEDED
from aerowire.client.publications.publication_base import NOT_CONNECTED as NOT_CONNECTED
from aerowire.client.publications.publication_base import PublicationBase
from aerowire.client.publications.publication_base import error_string as error_string

@final
class Publication(PublicationBase): ...

@final
class ExclusivePublication(PublicationBase):
    @property
    def revoke_on_close(self) -> bool: ...
    @revoke_on_close.setter
    def revoke_on_close(self, value: bool) -> None: ...
    @property
    def term_id(self) -> int: ...
    @property
    def term_offset(self) -> int: ...
    def append_padding(self, length: int) -> int: ...
    def offer_block(self, block: Buffer, offset: int = 0, length: int | None = None) -> int: ...
    def revoke(self) -> None: ...
