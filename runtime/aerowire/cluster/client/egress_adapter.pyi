from collections.abc import Callable
from typing import Any, final

from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.header import Header
from aerowire.cluster.client.egress_events import EgressEvent

@final
class EgressAdapter:
    def __init__(
        self,
        cluster_session_id: int,
        on_message: Callable[[int, int, memoryview, int, int, Header], Any],
        on_event: Callable[[EgressEvent, Header], object],
        on_extension: Callable[[int, int, int, int, bytes], object] | None = None,
    ) -> None: ...
    @property
    def dropped(self) -> int: ...
    def on_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> None: ...
    def on_controlled_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action: ...
