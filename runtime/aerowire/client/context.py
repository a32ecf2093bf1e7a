"""What a client is told: options from keywords, properties and environment, and the handlers of its events. Aeron: Aeron.Context."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Protocol

from aerowire.base import arguments
from aerowire.base.directory import default_aeron_dir
from aerowire.base.errors import ConfigurationError
from aerowire.base.idle import IdleStrategy
from aerowire.base.options import resolve_options
from aerowire.base.version import VERSION
from aerowire.codecs.flyweights.cnc import CLIENT_NAME_LENGTH_MAX, COUNTER_LABEL_LENGTH_MAX
from aerowire.codecs.tables.counters import COUNTER_LABEL_SUFFIXES, CounterType
from aerowire.system.ports import Ports

if TYPE_CHECKING:
    import threading

    from aerowire.base.ports import ClockPort
    from aerowire.client.conductor.driver_events_adapter import PublicationErrorFrame
    from aerowire.client.subscriptions.image import Image
    from aerowire.ipc.cnc import CncFile
    from aerowire.ipc.counters import CountersReader

IDLE_SLEEP_MAX_NS = 1_000_000_000

# Field of the context -> option that gives it a value when it is None.
_OPTION_NAMES = {
    "aeron_dir": "dir",
    "dir_shared": "dir_shared",
    "client_name": "client_name",
    "driver_timeout_ns": "driver_timeout_ns",
    "keepalive_interval_ns": "client_keepalive_interval_ns",
    "idle_sleep_duration_ns": "client_idle_sleep_duration_ns",
    "resource_linger_duration_ns": "client_resource_linger_duration_ns",
    "close_linger_duration_ns": "client_close_linger_duration_ns",
    "pre_touch_mapped_memory": "pre_touch_mapped_memory",
}


_FUNCTIONS = (
    "awaiting_idle_strategy",
    "thread_factory",
    "agent_on_start",
    "error_handler",
    "subscriber_error_handler",
    "new_publication_handler",
    "new_exclusive_publication_handler",
    "new_subscription_handler",
    "available_image_handler",
    "unavailable_image_handler",
    "available_counter_handler",
    "unavailable_counter_handler",
    "publication_error_frame_handler",
    "close_handler",
)


class Invoker(Protocol):
    """Something whose work is done by calling it: a driver without threads of its own."""

    def invoke(self) -> int:
        """Do one duty cycle; return how much was done."""
        ...


@dataclass(kw_only=True)
class ClientContext:
    """Everything that `Aeron.connect` takes. A field that is None gets its value from `properties`, the environment, or the default.

    Durations are nanoseconds, or text such as "5s". Handlers are called on the client's conductor thread, or on the thread that is waiting
    for the driver; they may close things, but must not wait for the driver themselves. What they raise goes to `error_handler`, as does
    what ends the client; without one it is logged to `aerowire.client`. What a fragment handler raises goes to the caller of the poll, or
    to `subscriber_error_handler` where there is one.

    `ports` are what the client takes from outside (default: the operating system's); the deadlines of calls that wait are theirs.
    `environ` is read instead of the process's environment. `clock` (default: that of the ports) is what keepalive, driver watch and
    lingering logs go by. `client_lock` is a lock that its holder may take again (threading.RLock, the default), or
    contextlib.nullcontext() where one thread does everything. `idle_strategy` is the keepalive thread's (default: sleep for
    `idle_sleep_duration_ns`), `awaiting_idle_strategy` that of calls that wait for the driver. `thread_factory(target, name)` makes the
    conductor's thread and does not start it. `agent_on_start(role_name)` is called on each of the client's threads before it begins, or by
    `Aeron.connect` where an invoker does their work. The handlers of new publications get channel, stream id, session id and registration
    id, that of subscriptions the same without a session, before the call that asked for it returns.
    """

    aeron_dir: str | os.PathLike[str] | None = None
    dir_shared: bool | None = None
    client_name: str | None = None
    driver_timeout_ns: int | str | None = None
    keepalive_interval_ns: int | str | None = None
    idle_sleep_duration_ns: int | str | None = None
    resource_linger_duration_ns: int | str | None = None
    close_linger_duration_ns: int | str | None = None
    pre_touch_mapped_memory: bool | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] | None = None
    ports: Ports | None = None
    validate_channels: bool = True
    use_conductor_agent_invoker: bool = False
    driver_agent_invoker: Invoker | None = None
    clock: ClockPort | None = None
    client_lock: AbstractContextManager[object] | None = None
    idle_strategy: IdleStrategy | None = None
    awaiting_idle_strategy: IdleStrategy | None = None
    thread_factory: Callable[[Callable[[], None], str], threading.Thread] | None = None
    agent_on_start: Callable[[str], object] | None = None
    error_handler: Callable[[BaseException], object] | None = None
    subscriber_error_handler: Callable[[Exception], object] | None = None
    new_publication_handler: Callable[[str, int, int, int], object] | None = None
    new_exclusive_publication_handler: Callable[[str, int, int, int], object] | None = None
    new_subscription_handler: Callable[[str, int, int], object] | None = None
    available_image_handler: Callable[[Image], object] | None = None
    unavailable_image_handler: Callable[[Image], object] | None = None
    available_counter_handler: Callable[[CountersReader, int, int], object] | None = None
    unavailable_counter_handler: Callable[[CountersReader, int, int], object] | None = None
    publication_error_frame_handler: Callable[[PublicationErrorFrame], object] | None = None
    close_handler: Callable[[], object] | None = None

    @classmethod
    def of(cls, **options: object) -> ClientContext:
        """Build a context; raises UnknownOptionError for a name that it does not have."""
        known = {entry.name for entry in fields(cls)}
        arguments.option_names(options, known, "a client has no such option", where="Aeron.connect", see="aerowire.client.ClientContext")
        return cls(**options)  # type: ignore[arg-type]

    @classmethod
    def chosen(
        cls, aeron_dir: str | os.PathLike[str] | None, context: ClientContext | None, options: Mapping[str, object]
    ) -> ClientContext:
        """Return the context that a call of `connect` asks for: the one given or one of the options, in the directory that it names."""
        arguments.instance("context", context, ClientContext, "a ClientContext, or options as keywords")
        if context is not None and options:
            raise TypeError(f"pass either a context or options, not both: {', '.join(options)}")
        chosen = context if context is not None else cls.of(**options)
        return chosen if aeron_dir is None else cls(**{**vars(chosen), "aeron_dir": aeron_dir})

    def conclude(self) -> ConcludedContext:
        """Return the context with every value settled and checked; raises ConfigurationError."""
        self.check_types()
        overrides = {option: getattr(self, name) for name, option in _OPTION_NAMES.items() if getattr(self, name) is not None}
        values = resolve_options({"client"}, overrides, self.properties, self.environ)
        settled = {name: values[option] for name, option in _OPTION_NAMES.items()}
        others = {entry.name for entry in fields(self)} - {*_OPTION_NAMES, "properties", "environ"}
        given = {name: getattr(self, name) for name in others}
        ports = self.ports if self.ports is not None else Ports.system()
        concluded = ConcludedContext(
            **{
                **given,
                **settled,
                "aeron_dir": str(settled["aeron_dir"] or default_aeron_dir()),
                "ports": ports,
                "clock": self.clock if self.clock is not None else ports.clock,
            }
        )
        concluded.check()
        return concluded

    def check_types(self) -> None:
        """Raise WrongTypeError for a value that no option of the table describes and that cannot be used."""
        arguments.instance("idle_strategy", self.idle_strategy, IdleStrategy, "an IdleStrategy")
        arguments.instance("ports", self.ports, Ports, "Ports")
        for name in _FUNCTIONS:
            arguments.function(name, getattr(self, name))
        for name in ("validate_channels", "use_conductor_agent_invoker"):
            arguments.instance(name, getattr(self, name), bool, "True or False")
        arguments.having("clock", self.clock, "now_ns", "a ClockPort")
        lock = "a lock, such as threading.RLock() or contextlib.nullcontext()"
        arguments.having("client_lock", self.client_lock, "__enter__", lock)
        if self.aeron_dir is not None and "\0" in str(self.aeron_dir):
            raise ConfigurationError("aeron_dir has a NUL", where="aeron_dir", expected="the path of a folder", actual=repr(self.aeron_dir))


@dataclass(kw_only=True, frozen=True)
class ConcludedContext:
    """A client context in which every value is there. Invariant: the values are in range."""

    aeron_dir: str
    dir_shared: bool
    client_name: str
    driver_timeout_ns: int
    keepalive_interval_ns: int
    idle_sleep_duration_ns: int
    resource_linger_duration_ns: int
    close_linger_duration_ns: int
    pre_touch_mapped_memory: bool
    validate_channels: bool
    use_conductor_agent_invoker: bool
    driver_agent_invoker: Invoker | None
    ports: Ports
    clock: ClockPort
    client_lock: AbstractContextManager[object] | None
    idle_strategy: IdleStrategy | None
    awaiting_idle_strategy: IdleStrategy | None
    thread_factory: Callable[[Callable[[], None], str], threading.Thread] | None
    agent_on_start: Callable[[str], object] | None
    error_handler: Callable[[BaseException], object] | None
    subscriber_error_handler: Callable[[Exception], object] | None
    new_publication_handler: Callable[[str, int, int, int], object] | None
    new_exclusive_publication_handler: Callable[[str, int, int, int], object] | None
    new_subscription_handler: Callable[[str, int, int], object] | None
    available_image_handler: Callable[[Image], object] | None
    unavailable_image_handler: Callable[[Image], object] | None
    available_counter_handler: Callable[[CountersReader, int, int], object] | None
    unavailable_counter_handler: Callable[[CountersReader, int, int], object] | None
    publication_error_frame_handler: Callable[[PublicationErrorFrame], object] | None
    close_handler: Callable[[], object] | None

    def check(self) -> None:
        """Raise ConfigurationError for a value out of range, or for two that contradict each other."""
        if self.driver_agent_invoker is not None and not callable(getattr(self.driver_agent_invoker, "invoke", None)):
            raise ConfigurationError(
                "driver_agent_invoker cannot be invoked",
                where="driver_agent_invoker",
                expected="an object with invoke()",
                actual=type(self.driver_agent_invoker).__name__,
                hint="of a MediaDriver in INVOKER mode it is the `invoker`",
            )
        check_client_name(self.client_name)
        for name, low, high in (
            ("driver_timeout_ns", 1_000_000, None),
            ("keepalive_interval_ns", 1, None),
            ("idle_sleep_duration_ns", 1, IDLE_SLEEP_MAX_NS),
            ("resource_linger_duration_ns", 0, None),
            ("close_linger_duration_ns", 0, None),
        ):
            value: int = getattr(self, name)
            if value < low or (high is not None and value > high):
                raise ConfigurationError(
                    f"{name} is out of range", where=name, expected=f"{low} to {high} ns" if high else f"at least {low} ns", actual=value
                )
        if self.driver_agent_invoker is not None and not self.use_conductor_agent_invoker:
            raise ConfigurationError(
                "driver_agent_invoker needs use_conductor_agent_invoker=True",
                where="Aeron.connect",
                hint="a driver that the caller invokes is served by one thread, and the client with it",
            )

    def name_heartbeat(self, cnc: CncFile, counter_id: int) -> None:
        """Write the client's name, version and process behind the label of its heartbeat counter, as the official clients do.

        They leave the process out; two clients of one stream cannot be told apart by their files.
        """
        counters = cnc.counters_manager()
        said = COUNTER_LABEL_SUFFIXES[CounterType.CLIENT_HEARTBEAT].format(
            client_name=self.client_name, version=VERSION, commit=f"aerowire pid={self.ports.processes.own_id()}"
        )
        room = COUNTER_LABEL_LENGTH_MAX - len(counters.label(counter_id))
        counters.append_label(counter_id, said[:room])


def check_client_name(name: str) -> None:
    """Raise ConfigurationError for a name that does not fit the label of a heartbeat counter."""
    if len(name) > CLIENT_NAME_LENGTH_MAX or not name.isascii():
        raise ConfigurationError(
            "client_name is too long or not ASCII",
            where="client_name",
            expected=f"at most {CLIENT_NAME_LENGTH_MAX} ASCII characters",
            actual=repr(name),
        )
