"""The consensus module's configuration: every option of the generated table, resolved and checked. Aeron: ConsensusModule.Context."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.archive.client.context import ArchiveClientContext
from aerowire.base import arguments
from aerowire.base.directory import default_aeron_dir
from aerowire.base.event_selection import CLUSTER_EVENTS
from aerowire.base.idle import IdleStrategy, idle_strategy
from aerowire.base.option_checks import wrong_option
from aerowire.base.options import resolve_options
from aerowire.cluster.consensus.members import ClusterMember, parse_endpoints, parse_members
from aerowire.cluster.consensus.options import ConsensusOptions
from aerowire.cluster.module.channels import with_alias
from aerowire.cluster.module.cluster_clock import time_unit_named
from aerowire.cluster.module.extension.supplier import extension_named
from aerowire.cluster.module.option_checks import check_options
from aerowire.cluster.sessions.authorisation import ALLOW_BACKUP_AND_STANDBY
from aerowire.cluster.snapshots.app_version import DEFAULT_APP_VERSION, AppVersionValidator, has_same_major_version
from aerowire.codecs.tables.archive_options import OPTIONS as ARCHIVE_OPTIONS
from aerowire.codecs.tables.cluster_options import OPTIONS
from aerowire.security.suppliers import authenticator_named, authorisation_named

if TYPE_CHECKING:
    from aerowire.client.aeron import Aeron
    from aerowire.client.context import Invoker
    from aerowire.codecs.flyweights.events import ClusterEventCode
    from aerowire.security.authentication import Authenticator
    from aerowire.security.authorisation import AuthorisationService
    from aerowire.system.threads import ThreadFactory

_SCOPE = "consensus-module"
# The stream of the archive's answers to a consensus module; several clusters of one driver have streams of their own.
_RESPONSE_STREAM_OF_CLUSTER = 100


class ConsensusModuleContext:
    """A consensus module's options by name, and what follows from them.

    Every option of scope consensus-module in the generated table is an attribute. Values come from keyword arguments, then `properties`,
    then the environment, then the defaults. Invariant: all values are in range, and the channels that a consensus module needs are there.
    """

    cluster_dir: str
    services_dir: str
    mark_file_dir: str
    error_buffer_length: int
    file_sync_level: int
    cluster_id: int
    cluster_member_id: int
    cluster_members: str | None
    member_endpoints: str
    appointed_leader_id: int
    ingress_channel: str
    ingress_stream_id: int
    ingress_ipc_allowed: bool
    ingress_fragment_limit: int
    egress_channel: str | None
    max_sessions: int
    session_timeout_ns: int
    authenticator_supplier: str
    authorisation_service_supplier: str
    log_channel: str
    log_stream_id: int
    log_fragment_limit: int
    log_control_enable: bool
    follower_catchup_channel: str
    replication_channel: str
    leader_archive_control_channel: str
    replay_channel: str
    replay_stream_id: int
    snapshot_channel: str
    consensus_module_snapshot_stream_id: int
    total_snapshot_threshold_ns: int
    accept_standby_snapshots: bool
    standby_snapshot_notification_processing_delay_ns: int
    consensus_channel: str
    consensus_stream_id: int
    consensus_control_enable: bool
    leader_heartbeat_timeout_ns: int
    leader_heartbeat_interval_ns: int
    startup_canvass_timeout_ns: int
    election_timeout_ns: int
    election_status_interval_ns: int
    termination_timeout_ns: int
    service_count: int
    control_channel: str
    consensus_module_stream_id: int
    service_stream_id: int
    consensus_module_agent_role_name: str | None
    cycle_threshold_ns: int
    wheel_tick_resolution_ns: int
    ticks_per_wheel: int

    def __init__(
        self,
        *,
        aeron_dir: str | os.PathLike[str] | None = None,
        archive: ArchiveClientContext | None = None,
        authenticator: Authenticator | None = None,
        authorisation: AuthorisationService | None = None,
        extension: object = None,
        use_agent_invoker: bool = False,
        media_driver_invoker: Invoker | None = None,
        thread_factory: ThreadFactory | None = None,
        termination_hook: Callable[[], object] | None = None,
        cluster_time_consumer: Callable[[int], object] | None = None,
        app_version: int = DEFAULT_APP_VERSION,
        app_version_validator: AppVersionValidator = has_same_major_version,
        properties: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        **options: object,
    ) -> None:
        """`aeron_dir` is the driver's directory, `archive` has the options of the client of the node's own archive.

        With `use_agent_invoker` the caller runs the consensus module, which runs the `media_driver_invoker` too if there is one.
        `authenticator`, `authorisation` and `extension` (a ConsensusModuleExtension, in place of services, so with `service_count` 0) are
        used in place of those that options name. `thread_factory(target, name)` returns a thread, not started, of a consensus module that
        has some. `termination_hook` is called once it has ended by itself, `cluster_time_consumer` after each cycle of the agent, with the
        time in the cluster's unit at which that began. `app_version` is that of the services; `app_version_validator` decides, of it and
        another one, whether the log of one is understood by the other.
        """
        if aeron_dir is not None and not isinstance(aeron_dir, str | os.PathLike):
            raise arguments.wrong_type("aeron_dir", aeron_dir, "a path as text or os.PathLike", "aeron_dir")
        arguments.instance("archive", archive, ArchiveClientContext, "an ArchiveClientContext")
        for name, function in (
            ("thread_factory", thread_factory),
            ("termination_hook", termination_hook),
            ("cluster_time_consumer", cluster_time_consumer),
        ):
            arguments.function(name, function)
        arguments.function("app_version_validator", app_version_validator)
        self.properties = {} if properties is None else dict(properties)
        self.environ = environ
        self.use_agent_invoker = use_agent_invoker
        self.media_driver_invoker = media_driver_invoker
        self.thread_factory = thread_factory
        self.termination_hook = termination_hook
        self.cluster_time_consumer = cluster_time_consumer
        self.app_version = app_version
        self.app_version_validator = app_version_validator
        self._archive = archive
        self._values = resolve_options({_SCOPE}, options, self.properties, environ)
        self.__dict__.update(self._values)
        self.aeron_dir = os.fspath(aeron_dir) if aeron_dir is not None else default_aeron_dir()
        self.event_codes: frozenset[ClusterEventCode] = CLUSTER_EVENTS.selected(self._values)
        self.time_unit = time_unit_named(str(self._values["clock"]), OPTIONS["clock"].property)
        self.cluster_path = Path(self.cluster_dir)
        self.mark_file_path = Path(self.mark_file_dir) if self.mark_file_dir else self.cluster_path
        self.services_path = Path(self.services_dir) if self.services_dir else self.cluster_path
        self.members = parse_members(self.cluster_members or "")
        check_options(self)
        self.member = self._own_member()
        self.consensus_options = ConsensusOptions(
            leader_heartbeat_timeout_ns=self.leader_heartbeat_timeout_ns,
            leader_heartbeat_interval_ns=self.leader_heartbeat_interval_ns,
            startup_canvass_timeout_ns=self.startup_canvass_timeout_ns,
            election_timeout_ns=self.election_timeout_ns,
            election_status_interval_ns=self.election_status_interval_ns,
            appointed_leader_id=self.appointed_leader_id,
            app_version=app_version,
        )
        self.authenticator = authenticator or authenticator_named(*self._named("authenticator_supplier"))
        self.authorisation = authorisation or authorisation_named(*self._named("authorisation_service_supplier"), ALLOW_BACKUP_AND_STANDBY)
        self.extension = extension if extension is not None else extension_named(*self._named("consensus_module_extension"))
        self._check_services()
        self.new_idle_strategy()

    @property
    def options(self) -> Mapping[str, object]:
        """Every option by name, as resolved."""
        return dict(self._values)

    @property
    def agent_role_name(self) -> str:
        """The name of the consensus module's thread and of its client at the driver."""
        return self.consensus_module_agent_role_name or f"consensus-module-{self.cluster_id}-{self.cluster_member_id}"

    def new_idle_strategy(self) -> IdleStrategy:
        """Return a new idle strategy. Raises ConfigurationError for one that does not exist."""
        return idle_strategy(str(self._values["idle_strategy"]), where=OPTIONS["idle_strategy"].property)

    def find_member(self, member_id: int) -> ClusterMember | None:
        """Return a member of the cluster; None of an id that no member has."""
        return next((member for member in self.members if member.member_id == member_id), None)

    def archive_context(self, aeron: Aeron, *, alias_suffix: str = "") -> ArchiveClientContext:
        """Return the options of a client of the node's archive: local control channels, with an alias of the member."""
        given = self._archive or ArchiveClientContext()
        local = ARCHIVE_OPTIONS["local_control_channel"].default
        alias = f"cluster-{self.cluster_id}-member-{self.cluster_member_id}{alias_suffix}"
        stream_id = _RESPONSE_STREAM_OF_CLUSTER * (self.cluster_id + 1) + int(ARCHIVE_OPTIONS["control_response_stream_id"].default or 0)
        return ArchiveClientContext(
            aeron=aeron,
            control_request_channel=with_alias(given.control_request_channel or str(local), f"cm-archive-ctrl-req-{alias}"),
            control_response_channel=with_alias(given.control_response_channel or str(local), f"cm-archive-ctrl-resp-{alias}"),
            control_request_stream_id=_given(given.control_request_stream_id, ARCHIVE_OPTIONS["local_control_stream_id"].default),
            control_response_stream_id=_given(given.control_response_stream_id, stream_id),
            control_term_buffer_length=given.control_term_buffer_length,
            message_timeout_ns=given.message_timeout_ns,
            credentials_supplier=given.credentials_supplier,
            client_name=self.agent_role_name,
            properties=self.properties,
            environ=self.environ,
        )

    def _named(self, name: str) -> tuple[str, str]:
        return str(self._values[name] or ""), OPTIONS[name].property

    def _check_services(self) -> None:
        """Raise ConfigurationError for an extension beside services, and for a node that has neither."""
        if (self.extension is None) == (self.service_count == 0):
            expected = "0 with an extension" if self.extension is not None else "1 at least, or an extension"
            raise wrong_option(OPTIONS["service_count"], "does not fit", expected, self.service_count)

    def _own_member(self) -> ClusterMember:
        member = self.find_member(self.cluster_member_id)
        if member is None:
            raise wrong_option(
                OPTIONS["cluster_member_id"], "is no member of the cluster", "an id in cluster_members", self.cluster_member_id
            )
        if self.member_endpoints and not member.has_same_endpoints(parse_endpoints(self.cluster_member_id, self.member_endpoints)):
            raise wrong_option(OPTIONS["member_endpoints"], "differs from cluster_members", member.endpoints, self.member_endpoints)
        return member


def _given(value: int | None, default: object) -> int:
    """Return a value, or the default of an option where it is not given."""
    return int(str(default)) if value is None else value
