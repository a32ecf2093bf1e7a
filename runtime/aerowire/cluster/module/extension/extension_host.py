"""The extension of a consensus module, called: what it raises is recorded, and without an extension its messages are errors."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from aerowire.agents.error_recorder import describe
from aerowire.archive.client.aeron_archive import AeronArchive
from aerowire.base.errors import ClusterSnapshotError, ConsensusModuleError
from aerowire.client.subscriptions.actions import Action
from aerowire.cluster.module.extension.consensus_module_control import ConsensusModuleControl, ExtensionLog
from aerowire.cluster.module.extension.consensus_module_extension import ConsensusControlState, ConsensusModuleExtension
from aerowire.codecs.flyweights.cluster.enums import CloseReason

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.module.clients.client_sessions import ClientSessions
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_publisher import LogPublisher
    from aerowire.cluster.module.log.log_recording import LogRecording
    from aerowire.cluster.sessions.extension_message import ExtensionMessage

_Steps = Generator["Pending[Any] | None", Any, None]
_NOTHING = ConsensusModuleExtension()


class ExtensionHost:
    """Calls the extension of one member. Changed by all methods. Invariant: nothing is called unless `is_running`."""

    def __init__(self, core: ModuleCore, sessions: ClientSessions, *, may_append: Callable[[], bool], end: Callable[[str], object]) -> None:
        """`may_append` tells whether a leader's extension may append; `end` ends the member, for a reason."""
        self._core = core
        self._end = end
        self._may_append = may_append
        self._extension: object = core.context.extension
        self._control = ConsensusModuleControl(core, sessions)
        self._archive: AeronArchive | None = None
        self._recording: LogRecording | None = None
        self._log_publisher: LogPublisher | None = None
        self._log_subscription: Subscription | None = None
        self.is_running = False

    # Its life

    def start(self, image: Image | None) -> _Steps:
        """Connect to the archive for it, and let it start with its part of a snapshot, in steps.

        Raises ConsensusModuleError where it fails, and what connecting raises.
        """
        if self._extension is None:
            return
        core = self._core
        self._archive = self._control.archive = yield AeronArchive.async_connect(
            context=core.context.archive_context(core.aeron, alias_suffix="-ext")
        )
        self.is_running = True
        try:
            yield from _steps(self._method("on_start")(self._control, image))
        except (Exception, SystemExit) as error:  # of the application, which may raise anything
            raise ConsensusModuleError("the extension has failed to start", actual=describe(error)) from error

    def begin(self, recording: LogRecording, log_publisher: LogPublisher) -> None:
        """Take what the member's log is recorded and published by, BEFORE the first election."""
        self._recording, self._log_publisher = recording, log_publisher

    def take_snapshot(self, publication: ExclusivePublication) -> _Steps:
        """Let it write its state, in steps. Raises ClusterSnapshotError where it fails: a snapshot without its state is none."""
        if self.is_running:
            try:
                yield from _steps(self._method("on_take_snapshot")(publication))
            except Exception as error:  # of the application, which may raise anything
                raise ClusterSnapshotError("the extension has failed to write its state", actual=describe(error)) from error

    def close(self) -> None:
        """Let it end, and give back what it has."""
        if self.is_running:
            self._call("close")
            self.is_running = False
        for opened in (self._log_subscription, self._archive):
            if opened is not None:
                opened.close()
        self._log_subscription = self._archive = None

    # Work

    def do_work(self) -> int:
        """Let it work in a cycle; return how much it did."""
        return self._work("do_work")

    def slow_tick_work(self) -> int:
        """Let it work at a tick; return how much it did."""
        return self._work("slow_tick_work")

    def consensus_work(self) -> int:
        """Let it work in a cycle outside of elections; return how much it did."""
        return self._work("consensus_work")

    # Terms

    def join_leader_log(self, channel: str, log_position: int) -> _Steps:
        """Subscribe to the log that this member leads, in steps. Raises ConsensusModuleError where it begins elsewhere."""
        if not self.is_running:
            return
        core = self._core
        self._log_subscription = subscription = yield core.aeron.async_add_subscription(channel, core.context.log_stream_id)
        assert subscription is not None
        check = core.deadline("the extension has no image of the log")
        while not subscription.image_count:
            check()
            yield None
        joined_at = subscription.image_at_index(0).join_position
        if joined_at != log_position:
            raise ConsensusModuleError(
                "the extension joins the log elsewhere", where=subscription.channel, expected=log_position, actual=joined_at
            )

    def on_election_complete(self, leadership_term_id: int, *, is_leader: bool) -> None:
        """Tell it of a term that this member takes part in."""
        publisher = self._log_publisher
        log = None if publisher is None or not is_leader else ExtensionLog(publisher, self._may_append)
        self._call("on_election_complete", self._state(leadership_term_id, log))

    def on_new_leadership_term(self, leadership_term_id: int) -> None:
        """Tell it of a term that the log begins."""
        self._call("on_new_leadership_term", self._state(leadership_term_id, None))

    def on_prepare_for_new_leadership(self) -> None:
        """Tell it of the end of a term, and close its subscription to the log."""
        self._call("on_prepare_for_new_leadership")
        subscription, self._log_subscription = self._log_subscription, None
        if subscription is not None:
            subscription.close()

    # Messages and sessions

    def on_ingress_message(self, message: ExtensionMessage) -> Action:
        """Give it a message of a client."""
        if not self.is_running:
            self._core.errors.record(f"unexpected ingress: schemaId={message.schema_id}", key="unexpected ingress")
            return Action.CONTINUE
        return self._action(self._call("on_ingress_extension_message", message))

    def on_log_message(self, message: ExtensionMessage, log_position: int) -> Action:
        """Give it a committed message of the log."""
        if not self.is_running:
            text = f"unexpected message in the log: schemaId={message.schema_id} templateId={message.template_id}"
            self._core.errors.record(text, key="unexpected message in the log")
            return Action.CONTINUE
        return self._action(self._call("on_log_extension_message", message, log_position))

    def on_session_opened(self, cluster_session_id: int) -> None:
        """Tell it of a session that the log opens."""
        self._call("on_session_opened", cluster_session_id)

    def on_session_closed(self, cluster_session_id: int, close_reason: CloseReason) -> None:
        """Tell it of a session that the log closes: not of one that was never in it."""
        if close_reason != CloseReason.NULL_VALUE:
            self._call("on_session_closed", cluster_session_id, close_reason)

    # Calls

    def _state(self, leadership_term_id: int, log: ExtensionLog | None) -> ConsensusControlState:
        recording_id = -1 if self._recording is None else self._recording.recording_id
        return ConsensusControlState(log, None if log is None else self._log_subscription, recording_id, leadership_term_id)

    def _work(self, name: str) -> int:
        if not self.is_running:
            return 0
        return int(self._call(name, self._core.cluster_clock.time_ns()) or 0)

    def _method(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self._extension, name, None) or getattr(_NOTHING, name)
        return found

    def _call(self, name: str, *arguments: object) -> Any:
        """Call a method of the extension; record what it raises."""
        if not self.is_running:
            return None
        try:
            return self._method(name)(*arguments)
        except SystemExit as exit_request:
            self._end(f"the extension has ended the member: {exit_request}")
        except Exception as error:  # of the application, which may raise anything
            self._core.errors.record(error)
        return None

    def _action(self, returned: object) -> Action:
        return returned if isinstance(returned, Action) else Action.CONTINUE


def _steps(result: Any) -> Generator[None, None, None]:
    if isinstance(result, Generator):
        yield from result
