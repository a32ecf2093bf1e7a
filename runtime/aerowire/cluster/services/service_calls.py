"""The callbacks of a service object: those that it has, and in place of the others those that do nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from aerowire.base import arguments
from aerowire.base.errors import ConfigurationError
from aerowire.cluster.services.clustered_service import ClusteredService
from aerowire.cluster.services.message_handlers import HANDLED, MessageHandlers, has_marked_methods
from aerowire.cluster.services.snapshot_forms import form_of
from aerowire.cluster.snapshots.stream import write_messages

if TYPE_CHECKING:
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.services.cluster import Cluster
    from aerowire.cluster.services.message_batch import MessageBatch
    from aerowire.cluster.snapshots.markers import SnapshotDetails

_NOTHING = ClusteredService()
_CALLBACKS = tuple(name for name in vars(ClusteredService) if name.startswith(("on_", "do_")))


class ServiceCalls:
    """A service as the container calls it: each callback by its name. Invariant: all are functions."""

    on_start: Callable[..., object]
    on_session_open: Callable[..., object]
    on_session_close: Callable[..., object]
    on_session_message: Callable[..., object]
    on_timer_event: Callable[..., object]
    on_take_snapshot: Callable[..., object]
    on_role_change: Callable[..., object]
    on_terminate: Callable[..., object]
    on_new_leadership_term_event: Callable[..., object]
    do_background_work: Callable[[int], int | None]

    def __init__(self, service: object) -> None:
        """Raises ConfigurationError for an object that has none of them, and for what is no function."""
        self.service = service
        for name in _CALLBACKS:
            found = getattr(service, name, None)
            arguments.function(name, found)
            setattr(self, name, found if found is not None else getattr(_NOTHING, name))
        self.on_batch: Callable[[MessageBatch], object] | None = getattr(service, "on_batch", None)
        arguments.function("on_batch", self.on_batch)
        has_handlers = has_marked_methods(service, HANDLED)
        if not has_handlers and not any(hasattr(service, name) for name in (*_CALLBACKS, "on_batch")):
            raise ConfigurationError(
                "this is no service", where="service", expected="an object with on_session_message and its kin", actual=repr(service)
            )
        if has_handlers and self.on_batch is not None:
            raise ConfigurationError(
                "a service takes messages in two ways",
                where=type(service).__name__,
                expected="on_batch, which gets all messages, or methods with @handles",
            )
        if has_handlers:
            is_own = getattr(type(service), "on_session_message", None) not in (None, ClusteredService.on_session_message)
            self.on_session_message = MessageHandlers(service, self.on_session_message if is_own else None)
        self._form = form_of(service)
        # A call in each cycle for nothing would be the greater part of a cycle.
        background = getattr(type(service), "do_background_work", None)
        self.has_background_work = background not in (None, ClusteredService.do_background_work)

    def start(self, cluster: Cluster, image: Image | None, check: Callable[[], object]) -> Generator[None, None, None]:
        """Restore a state that is not a stream of the service's own, and call `on_start`, step by step; `check` raises what goes wrong."""
        if image is not None and self._form is not None:
            yield from self._form.load(image, check)
            image = None
        yield from _steps(self.on_start(cluster, image))

    def take_snapshot(self, publication: ExclusivePublication, details: SnapshotDetails) -> Generator[None, None, None]:
        """Write the state, or call `on_take_snapshot`, step by step."""
        if self._form is not None:
            yield from write_messages(publication, self._form.messages(details))
        else:
            yield from _steps(self.on_take_snapshot(publication))


def _steps(result: Any) -> Generator[None, None, None]:
    if isinstance(result, Generator):
        yield from result
