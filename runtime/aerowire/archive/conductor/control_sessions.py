"""The control sessions of an archive: made for clients that connect, worked on, closed when they have ended. Aeron: ArchiveConductor."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from aerowire.archive.conductor import archive_counters, channels
from aerowire.archive.control.control_response_proxy import ControlResponseProxy
from aerowire.archive.control.control_session import ControlSession
from aerowire.archive.control.control_session_adapter import ControlSessionAdapter
from aerowire.archive.control.retried_request import RetriedRequest
from aerowire.archive.control.session_machine import SESSION_CLOSED, SessionMachine, SessionState
from aerowire.archive.protocol_version import PROTOCOL_VERSION
from aerowire.client.subscriptions.assembler import FragmentAssembler
from aerowire.codecs.flyweights.commands import REJECT_REASON_LENGTH_MAX
from aerowire.codecs.flyweights.events import ArchiveEventCode
from aerowire.recordings.versions import major_version, version_text
from aerowire.security.authorisation import ALLOW_ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.control.operations import ArchiveOperations
    from aerowire.archive.control.replay_tokens import ReplayTokens
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.codecs.flyweights.archive import AuthConnectRequest

_FRAGMENT_LIMIT = 10
_NS_PER_MS = 1_000_000
_FIRST_SESSION_ID_MAX = 1 << 31
# States of sessions with nothing to do but what is due by time.
_WAITING_STATES = {SessionState.AUTHENTICATED, SessionState.ACTIVE, SessionState.REJECTED}


class ControlSessions:
    """Polls the control subscriptions and works on the sessions. The conductor's thread."""

    def __init__(
        self,
        core: ArchiveCore,
        subscriptions: Sequence[Subscription],
        operations: ArchiveOperations,
        tokens: ReplayTokens,
        *,
        on_images: Callable[[Iterable[Image]], object],
    ) -> None:
        """`on_images` is called with the images of all requests whenever they are others than before."""
        self._core = core
        self._subscriptions = subscriptions
        self._on_images = on_images
        self._images: set[Image] = set()
        self._seen: list[tuple[Image, ...] | None] = [None for _ in subscriptions]
        self._proxy = ControlResponseProxy(core.events, PROTOCOL_VERSION)
        self._next_session_id = core.ports.random.below(_FIRST_SESSION_ID_MAX)
        self._tokens = tokens
        # Whether requests need neither a decision nor an event.
        self._may_answer_early = core.context.authorisation == ALLOW_ALL and not core.events.is_on
        self._admitted: set[int] = set()
        self.is_connecting = False
        """Whether a client is on its way to a session that waits for requests."""
        self.adapter = ControlSessionAdapter(
            operations, self.connect, core.context.authorisation, tokens, core.time, core.events, self._report
        )
        self._assemblers = [FragmentAssembler(self.adapter.on_fragment) for _ in subscriptions]

    def next_id(self) -> int:
        """Return an id for a session or a replication."""
        found, self._next_session_id = self._next_session_id, self._next_session_id + 1
        return found

    @property
    def has_unsent(self) -> bool:
        """Whether a client has not taken its responses yet."""
        return any(session.has_unsent for session in self.adapter.sessions)

    def do_work(self) -> int:
        """Serve requests, and do what is due in each session."""
        self._look_at_images()
        work = 0
        for subscription, assembler in zip(self._subscriptions, self._assemblers, strict=True):
            work += subscription.poll(assembler, _FRAGMENT_LIMIT)
        work += self._tokens.expire(self._core.time.now_ns)
        self.is_connecting = False
        for session in self.adapter.sessions:
            try:
                work += session.do_work()
            except Exception as error:  # it has ended the session
                self._core.errors.record(error, key=("control session", type(error)))
            if session.is_done:
                self._close(session)
                work += 1
            else:
                self.is_connecting |= session.state not in _WAITING_STATES
                if self._may_answer_early and session.is_flowing != (session.session_id in self._admitted):
                    self._change_admission(session)
        return work

    def connect(self, image: Image, request: AuthConnectRequest) -> ControlSession:
        """Make a session for a client. Raises AerowireError for a response channel that is none."""
        core, context = self._core, self._core.context
        uri = channels.parse_channel(request.response_channel)
        channel = channels.response_channel(
            uri,
            mtu_length=context.control_mtu_length,
            term_length=context.control_term_buffer_length,
            is_sparse=context.control_term_buffer_sparse,
            request_image_correlation_id=image.correlation_id,
        )
        session_id = self.next_id()
        client = f"sourceIdentity={image.source_identity} sessionId={image.session_id}"
        spec = archive_counters.control_session(core.archive_id, session_id, f"{request.client_info} {client}".strip())
        invalid_version = _invalid_version(request.version or 0)

        def on_change(old: SessionState, new: SessionState, reason: str) -> None:
            core.events.state_change(ArchiveEventCode.CONTROL_SESSION_STATE_CHANGE, old, new, control_session_id=session_id, reason=reason)

        with ExitStack() as begun:  # given up if the next step raises, as an authenticator of the user's may
            publication = RetriedRequest(lambda: core.aeron.async_add_exclusive_publication(channel, request.response_stream_id))
            begun.callback(publication.abandon)
            counter = core.aeron.async_add_counter(spec.type_id, spec.label, key=spec.key)
            begun.callback(counter.abandon)
            context.authenticator.on_connect_request(session_id, request.encoded_credentials, core.time.now_ms)
            begun.pop_all()
        session = ControlSession(
            session_id,
            request.correlation_id,
            SessionMachine(
                now_ms=core.time.now_ms,
                connect_timeout_ms=context.connect_timeout_ns // _NS_PER_MS,
                liveness_check_interval_ms=context.session_liveness_check_interval_ns // _NS_PER_MS,
                is_version_valid=invalid_version is None,
                on_change=on_change,
            ),
            image=image,
            publication=publication,
            counter=counter,
            proxy=self._proxy,
            authenticator=context.authenticator,
            time=core.time,
            invalid_version=invalid_version,
        )
        core.count(core.control_sessions, 1)
        return session

    def close(self) -> None:
        """End all sessions."""
        for session in self.adapter.sessions:
            session.abort(SESSION_CLOSED)
            self._close(session)

    def _close(self, session: ControlSession) -> None:
        self._dismiss(session)
        self.adapter.remove(session)
        try:
            session.close()
            if session.machine.is_aborted and not session.image.is_closed:
                reason = session.machine.end_reason or ""
                # The kind of the reason alone: what is behind it a client can make up.
                self._report(f"WARN - {session} terminated: {reason}", ("session terminated", reason.partition(":")[0]))
                session.image.async_reject(reason[:REJECT_REASON_LENGTH_MAX])
        except Exception as error:  # the driver or the client has gone, or the authenticator has failed
            self._core.errors.record(error, key=("control session closed", type(error)))
        self._core.count(self._core.control_sessions, -1)

    def _change_admission(self, session: ControlSession) -> None:
        """Begin or cease to have a session's requests for positions answered by the sleeper."""
        publication = session.free_publication
        if session.is_flowing and publication is not None:
            self._admitted.add(session.session_id)
            self._core.position_answers.admit(session.session_id, session.image, publication)
        else:
            self._dismiss(session)

    def _dismiss(self, session: ControlSession) -> None:
        self._admitted.discard(session.session_id)
        self._core.position_answers.dismiss(session.session_id)

    def _look_at_images(self) -> None:
        """Notice images that have come or gone."""
        for index, subscription in enumerate(self._subscriptions):
            if subscription.images is not self._seen[index]:
                self._change_images([subscription.images for subscription in self._subscriptions])
                return

    def _change_images(self, seen: list[tuple[Image, ...]]) -> None:
        """End the sessions of images that have gone."""
        self._seen = [*seen]
        images = {image for found in seen for image in found}
        for image in self._images - images:
            self.adapter.abort_by_image(image)
            for assembler in self._assemblers:
                assembler.free_session_buffer(image.session_id)
        self._images = images
        self._on_images(image for found in seen for image in found)

    def _report(self, error: BaseException | str, key: Hashable) -> None:
        self._core.errors.record(error, key=key)


def _invalid_version(version: int) -> str | None:
    """Return why a client's protocol version is not served, or None."""
    if major_version(version) == major_version(PROTOCOL_VERSION):
        return None
    return f"invalid client version {version_text(version)}, archive is {version_text(PROTOCOL_VERSION)}"
