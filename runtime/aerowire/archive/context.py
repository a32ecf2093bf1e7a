"""The archive's configuration: every option of the generated table, resolved and checked. Aeron: Archive.Context, Archive.Configuration."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.archive.option_checks import check_options
from aerowire.base import arguments
from aerowire.base.directory import default_aeron_dir
from aerowire.base.errors import ConfigurationError
from aerowire.base.event_selection import ARCHIVE_EVENTS
from aerowire.base.idle import IdleStrategy, idle_strategy
from aerowire.base.options import resolve_options
from aerowire.codecs.tables.archive_options import OPTIONS
from aerowire.security.suppliers import authenticator_named, authorisation_named

if TYPE_CHECKING:
    from aerowire.client.context import Invoker
    from aerowire.codecs.flyweights.events import ArchiveEventCode
    from aerowire.security.authentication import Authenticator
    from aerowire.security.authorisation import AuthorisationService
    from aerowire.system.threads import ThreadFactory

_SCOPE = "archive"
# Names under which Java has the operating system's generator.
SYSTEM_RANDOM_ALGORITHMS = ("NativePRNG", "NativePRNGBlocking", "NativePRNGNonBlocking", "Windows-PRNG", "strong")


class ArchiveThreadingMode(enum.Enum):
    """How the agents are spread over threads."""

    DEDICATED = "DEDICATED"  # recorder and replayer have a thread each
    SHARED = "SHARED"  # recorder and replayer have one thread
    INVOKER = "INVOKER"  # the caller runs all agents


class ArchiveContext:
    """An archive's options by name, and what follows from them.

    Every option of scope archive in the generated table is an attribute. Values come from keyword arguments, then `properties`, then the
    environment, then the defaults. Invariant: all values are in range, and the channels that an archive needs are there.
    """

    archive_dir: str
    archive_dir_delete_on_start: bool
    mark_file_dir: str
    archive_id: int
    error_buffer_length: int
    segment_file_length: int
    low_storage_space_threshold: int
    segment_file_preallocate: bool
    file_sync_level: int
    catalog_file_sync_level: int
    catalog_capacity: int
    file_io_max_length: int
    record_checksum: str
    replay_checksum: str
    control_channel_enabled: bool
    control_channel: str
    control_stream_id: int
    local_control_channel: str
    local_control_stream_id: int
    control_term_buffer_length: int
    control_term_buffer_sparse: bool
    control_mtu_length: int
    connect_timeout_ns: int
    session_liveness_check_interval_ns: int
    max_concurrent_recordings: int
    max_concurrent_replays: int
    replay_linger_timeout_ns: int
    replication_channel: str
    recording_events_enabled: bool
    recording_events_channel: str
    recording_events_stream_id: int
    conductor_cycle_threshold_ns: int
    recorder_cycle_threshold_ns: int
    replayer_cycle_threshold_ns: int
    thread_naming: str
    print_configuration: bool

    def __init__(
        self,
        *,
        aeron_dir: str | os.PathLike[str] | None = None,
        authenticator: Authenticator | None = None,
        authorisation: AuthorisationService | None = None,
        media_driver_invoker: Invoker | None = None,
        thread_factory: ThreadFactory | None = None,
        recorder_thread_factory: ThreadFactory | None = None,
        replayer_thread_factory: ThreadFactory | None = None,
        secure_random_algorithm: str | None = None,
        properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        **options: object,
    ) -> None:
        """`aeron_dir` is short for the option `dir`, the driver's. An archive in INVOKER mode runs the `media_driver_invoker` too.

        `authenticator` and `authorisation` are used in place of those that options name. `thread_factory(target, name)` returns a
        thread, not started, for each agent that has no factory of its own. `secure_random_algorithm` is one of Java's names of the
        system's generator, which replay tokens always are taken from.
        """
        if aeron_dir is not None and not isinstance(aeron_dir, str | os.PathLike):
            raise arguments.wrong_type("aeron_dir", aeron_dir, "a path as text or os.PathLike", "aeron_dir")
        self.properties = {} if properties is None else dict(properties)
        self.environ = environ
        self.media_driver_invoker = media_driver_invoker
        self._thread_factories = {"": thread_factory, "recorder": recorder_thread_factory, "replayer": replayer_thread_factory}
        for role, factory in self._thread_factories.items():
            arguments.function(f"{role}_thread_factory".removeprefix("_"), factory)
        if secure_random_algorithm is not None and secure_random_algorithm not in SYSTEM_RANDOM_ALGORITHMS:
            raise ConfigurationError(
                "secure_random_algorithm is not known here",
                where="secure_random_algorithm",
                expected=f"one of {', '.join(SYSTEM_RANDOM_ALGORITHMS)}",
                actual=repr(secure_random_algorithm),
            )
        if aeron_dir is not None:
            options["dir"] = os.fspath(aeron_dir)
        self._values = resolve_options({_SCOPE}, options, self.properties, environ)
        self.__dict__.update(self._values)
        self.aeron_dir = str(self._values["dir"] or default_aeron_dir())
        if "catalog_file_sync_level" not in self._values.given:
            self.catalog_file_sync_level = self.file_sync_level
        self.threading_mode = ArchiveThreadingMode(self._values["threading_mode"])
        self.event_codes: frozenset[ArchiveEventCode] = ARCHIVE_EVENTS.selected(self._values)
        self.archive_path = Path(self.archive_dir)
        self.mark_file_path = Path(self.mark_file_dir) if self.mark_file_dir else self.archive_path
        check_options(self)
        self.authenticator = authenticator or authenticator_named(*self._named("authenticator_supplier"))
        self.authorisation = authorisation or authorisation_named(*self._named("authorisation_service_supplier"))
        for role in ("conductor", "recorder", "replayer"):
            self.new_idle_strategy(role)

    @property
    def options(self) -> Mapping[str, object]:
        """Every option by name, as resolved."""
        return dict(self._values)

    @property
    def is_invoked(self) -> bool:
        """Whether the caller runs all agents."""
        return self.threading_mode is ArchiveThreadingMode.INVOKER

    def new_idle_strategy(self, role: str) -> IdleStrategy:
        """Return a new idle strategy of conductor, recorder or replayer. Raises ConfigurationError for one that does not exist."""
        name = "idle_strategy" if role == "conductor" else f"{role}_idle_strategy"
        return idle_strategy(str(self._values[name]), where=OPTIONS[name].property)

    def thread_factory(self, role: str) -> ThreadFactory | None:
        """Return what makes the thread of conductor, recorder, replayer or shared agents; None for a usual thread."""
        return self._thread_factories.get(role) or self._thread_factories[""]

    def _named(self, name: str) -> tuple[str, str]:
        return str(self._values[name] or ""), OPTIONS[name].property
