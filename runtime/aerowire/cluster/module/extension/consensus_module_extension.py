"""The interface of extensions, with callbacks that do nothing. Aeron: ConsensusModuleExtension, ConsensusControlState."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.client.subscriptions.actions import Action

if TYPE_CHECKING:
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.module.extension.consensus_module_control import ConsensusModuleControl, ExtensionLog
    from aerowire.cluster.sessions.extension_message import ExtensionMessage
    from aerowire.codecs.flyweights.cluster.enums import CloseReason

# What a callback returns that goes on later: it yields where it would have to wait.
Steps = Generator[None, None, None]


@dataclass(frozen=True, slots=True)
class ConsensusControlState:
    """What an extension may work with in a term. A follower has no `log`, and no subscription to that of its own member.

    `leader_log_subscription` reads the log that this member leads, from where the term's recording begins; an extension reads it no
    further than the commit position.
    """

    log: ExtensionLog | None
    leader_log_subscription: Subscription | None
    log_recording_id: int
    leadership_term_id: int

    @property
    def is_leader(self) -> bool:
        """Whether this member leads the term."""
        return self.log is not None


class ConsensusModuleExtension:
    """Handles messages of other schemas than the cluster's. Override what is needed; a class with the same methods will do, too.

    A leader's extension gets messages of clients (`on_ingress_extension_message`) and appends to the log what it makes of them. Followers,
    and all members that replay the log, get what is committed (`on_log_extension_message`); a leader reads its own log by
    `ConsensusControlState.leader_log_subscription`. Members apply the same log, so state must follow from it alone.

    Callbacks run on the consensus module's thread, one at a time, and must not block: meanwhile the member takes part in nothing. What one
    raises is put into the error log and counted, and the member goes on; raised by `on_start`, it ends the member, and so does SystemExit.
    `on_start` and `on_take_snapshot` may be generator functions: each `yield` lets the member go on. A node with an extension has no
    services.
    """

    def on_start(self, control: ConsensusModuleControl, snapshot_image: Image | None) -> Steps | None:
        """Begin, with the state in the image of the last snapshot, if there is one."""

    def do_work(self, now_ns: int) -> int:  # noqa: ARG002 for those that override it
        """Do work in each cycle, at a time of the cluster in nanoseconds; return how much that was."""
        return 0

    def slow_tick_work(self, now_ns: int) -> int:  # noqa: ARG002
        """Do work about a hundred times a second; return how much that was."""
        return 0

    def consensus_work(self, now_ns: int) -> int:  # noqa: ARG002
        """Do work in each cycle outside of elections; return how much that was."""
        return 0

    def on_election_complete(self, state: ConsensusControlState) -> None:
        """Take note of a term that this member leads or follows from now on."""

    def on_new_leadership_term(self, state: ConsensusControlState) -> None:
        """Take note of a term that the log begins, as followers and replays read it."""

    def on_ingress_extension_message(self, message: ExtensionMessage) -> Action | None:  # noqa: ARG002
        """Handle a message of a client; Action.ABORT lets it come again, where there is no room for what is made of it."""
        return Action.CONTINUE

    def on_log_extension_message(self, message: ExtensionMessage, log_position: int) -> Action | None:  # noqa: ARG002
        """Handle a committed message of the log, which ends at a position; Action.ABORT lets it come again."""
        return Action.CONTINUE

    def on_session_opened(self, cluster_session_id: int) -> None:
        """Take note of a client's session that the log opens."""

    def on_session_closed(self, cluster_session_id: int, close_reason: CloseReason) -> None:
        """Take note of a client's session that the log has closed."""

    def on_prepare_for_new_leadership(self) -> None:
        """Take note of the end of a term, before the next election: the log and its subscription are gone."""

    def on_take_snapshot(self, publication: ExclusivePublication) -> Steps | None:
        """Write the state to the publication, behind the consensus module's own, in messages of any form."""

    def close(self) -> None:
        """Give back what the extension has: the member ends."""
