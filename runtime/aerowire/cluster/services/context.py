"""The configuration of a service container. Aeron: ClusteredServiceContainer.Context, ClusteredServiceContainer.Configuration."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerowire.base import arguments, units
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.directory import default_aeron_dir
from aerowire.base.errors import ConfigurationError
from aerowire.base.idle import IdleStrategy, idle_strategy
from aerowire.base.option_checks import check_ranges
from aerowire.base.options import resolve_options
from aerowire.client.aeron import Aeron
from aerowire.cluster.services.service_calls import ServiceCalls
from aerowire.cluster.snapshots.app_version import DEFAULT_APP_VERSION, AppVersionValidator, has_same_major_version
from aerowire.codecs.flyweights.cluster_files import CLUSTER_ERROR_LOG_LENGTH_MIN
from aerowire.codecs.flyweights.transport import TERM_LENGTH_MAX
from aerowire.codecs.tables.cluster_options import OPTIONS

if TYPE_CHECKING:
    from aerowire.client.context import Invoker
    from aerowire.system.threads import ThreadFactory

_SCOPE = "cluster-service"
# Aeron: ClusteredServiceContainer.Configuration.MAX_SERVICE_COUNT.
SERVICE_COUNT_MAX: Final = 10
# What distinguishes the archive's answers to the services of the clusters of one driver.
_RESPONSE_STREAMS_PER_CLUSTER = 100
_BATCH_LIMIT = 1024
# Names of services without one by the form of threads' names, with the ids of cluster and service.
_NAMES: Mapping[str, str] = {"classic": "clustered-service-{0}-{1}", "new": "aeron-cl-cs-{1}"}

_RANGES: Mapping[str, tuple[int, int]] = {
    "service_id": (0, SERVICE_COUNT_MAX - 1),
    "cluster_id": (units.INT32_MIN, units.INT32_MAX),
    "service_error_buffer_length": (CLUSTER_ERROR_LOG_LENGTH_MIN, TERM_LENGTH_MAX),
    "log_fragment_limit": (1, units.INT32_MAX),
    "service_cycle_threshold_ns": (0, units.INT64_MAX),
    "service_snapshot_threshold_ns": (0, units.INT64_MAX),
    "service_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "consensus_module_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "replay_stream_id": (units.INT32_MIN, units.INT32_MAX),
    "service_snapshot_stream_id": (units.INT32_MIN, units.INT32_MAX),
}
_CHANNELS = ("control_channel", "replay_channel", "snapshot_channel", "local_control_channel")


class ClusteredServiceContext:
    """A service container's options by name, and what follows from them.

    Every option of scope cluster-service in the generated table is an attribute. Values come from keyword arguments, then `properties`,
    then the environment, then the defaults. Invariant: all values are in range, and `calls` are those of a service.
    """

    cluster_dir: str
    mark_file_dir: str
    cluster_id: int
    service_id: int
    service_name: str
    service_responder: bool
    service_error_buffer_length: int
    service_cycle_threshold_ns: int
    service_snapshot_threshold_ns: int
    control_channel: str
    consensus_module_stream_id: int
    service_stream_id: int
    replay_channel: str
    replay_stream_id: int
    snapshot_channel: str
    service_snapshot_stream_id: int
    log_fragment_limit: int
    local_control_channel: str
    local_control_stream_id: int
    control_response_stream_id: int
    thread_naming: str
    print_configuration: bool

    def __init__(
        self,
        service: object = None,
        *,
        aeron_dir: str | os.PathLike[str] | None = None,
        aeron: Aeron | None = None,
        app_version: int = DEFAULT_APP_VERSION,
        app_version_validator: AppVersionValidator = has_same_major_version,
        batch_limit: int = _BATCH_LIMIT,
        error_handler: Callable[[BaseException], object] | None = None,
        termination_hook: Callable[[], object] | None = None,
        use_agent_invoker: bool = False,
        agent_invokers: tuple[Invoker, ...] = (),
        thread_factory: ThreadFactory | None = None,
        properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        **options: object,
    ) -> None:
        """`service` is an object, or a class that is called without arguments; without one, that of the option `service_class_name`.

        `aeron` is used in place of a client of its own, and stays open. `error_handler` gets each error that is recorded, and
        `termination_hook` is called when the container ends by itself. With `use_agent_invoker` the caller runs the container by its
        `invoker`; `agent_invokers` are what its thread has to run besides while it waits: a driver or an archive without threads.
        `batch_limit` is how many messages one call of `on_batch` gets at most.
        """
        if aeron_dir is not None and not isinstance(aeron_dir, str | os.PathLike):
            raise arguments.wrong_type("aeron_dir", aeron_dir, "a path as text or os.PathLike", "aeron_dir")
        arguments.instance("aeron", aeron, Aeron, "an Aeron client")
        for name, function in (
            ("app_version_validator", app_version_validator),
            ("error_handler", error_handler),
            ("termination_hook", termination_hook),
            ("thread_factory", thread_factory),
        ):
            arguments.function(name, function)
        self.properties = {} if properties is None else dict(properties)
        self.environ = environ
        self.aeron = aeron
        self.app_version = arguments.whole_number("app_version", app_version, 0, units.INT32_MAX)
        self.app_version_validator = app_version_validator
        self.batch_limit = arguments.whole_number("batch_limit", batch_limit, 1, units.INT32_MAX)
        self.termination_hook = termination_hook
        self.is_invoked = use_agent_invoker
        self.agent_invokers = tuple(agent_invokers)
        self.thread_factory = thread_factory
        if aeron_dir is not None:
            options["dir"] = os.fspath(aeron_dir)
        self._values = resolve_options({_SCOPE}, options, self.properties, environ)
        self.__dict__.update(self._values)
        self.aeron_dir = aeron.context.aeron_dir if aeron is not None else str(self._values["dir"] or default_aeron_dir())
        self.service_name = str(self._values["service_name"] or _NAMES[self.thread_naming].format(self.cluster_id, self.service_id))
        self.cluster_path = Path(self.cluster_dir)
        self.mark_file_path = Path(self.mark_file_dir) if self.mark_file_dir else self.cluster_path
        self._check()
        self.error_handlers = tuple(handler for handler in (self._delegating_error_handler(), error_handler) if handler is not None)
        self.calls = ServiceCalls(self._service(service))
        self.new_idle_strategy()

    @property
    def options(self) -> Mapping[str, object]:
        """Every option by name, as resolved."""
        return dict(self._values)

    @property
    def archive_response_stream_id(self) -> int:
        """Stream of the archive's answers to this service."""
        return (
            self.cluster_id * _RESPONSE_STREAMS_PER_CLUSTER
            + _RESPONSE_STREAMS_PER_CLUSTER
            + self.control_response_stream_id
            + self.service_id
            + 1
        )

    def archive_channel(self, way: str) -> str:
        """Return the channel to the archive ("req") or back ("resp"), which an alias tells from others."""
        uri = ChannelUri.parse(self.local_control_channel)
        uri.parameters.setdefault("alias", f"sc-{self.service_id}-archive-ctrl-{way}-cluster-{self.cluster_id}")
        return str(uri)

    def new_idle_strategy(self) -> IdleStrategy:
        """Return a new idle strategy. Raises ConfigurationError for one that does not exist."""
        return idle_strategy(str(self._values["idle_strategy"]), where=OPTIONS["idle_strategy"].property)

    def _check(self) -> None:
        check_ranges(self, OPTIONS, _RANGES)
        for name in _CHANNELS:
            ChannelUri.parse(getattr(self, name))
        if not ChannelUri.parse(self.local_control_channel).is_ipc:
            raise _wrong("local_control_channel", "has another medium", "a channel of aeron:ipc", self.local_control_channel)

    def _service(self, service: object) -> object:
        name = self._values["service_class_name"]
        if service is None and name:
            service = _named(str(name), "service_class_name", "package.module:Class of a service")
        if service is None:
            raise _wrong("service_class_name", "is not set", "a service, or package.module:Class of one", repr(name))
        return service() if isinstance(service, type) else service

    def _delegating_error_handler(self) -> Callable[[BaseException], object] | None:
        name = self._values["service_delegating_error_handler"]
        if not name:
            return None
        found = _named(str(name), "service_delegating_error_handler", "package.module:name of a function that takes an error")
        arguments.function("service_delegating_error_handler", found)
        handler: Callable[[BaseException], object] = found
        return handler


def _named(name: str, option: str, expected: str) -> Any:
    module, separator, attribute = name.partition(":")
    if not separator:
        raise _wrong(option, "does not name anything in Python", expected, repr(name))
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise _wrong(option, "names what cannot be imported", expected, f"{name}: {error}") from error


def _wrong(name: str, what: str, expected: str, actual: object) -> ConfigurationError:
    where = OPTIONS[name].property if name in OPTIONS else name
    return ConfigurationError(f"{where} {what}", where=where, expected=expected, actual=actual)
