"""Conversations of clients with a member as text: commands, and under each the full output of effects that it causes.

A client has the name that its response channel has as an endpoint. Effects are carried out at once: publications are added, events are
appended 64 bytes apart, messages are sent; commands say where that is not so.

| command | what it does |
|---|---|
| `member [max=N] [authenticator=credentials\\|challenge\\|broken] [authorised=all] [standby=true] [delay=MS]` | make a member |
| `lead TERM [startup]` / `follow LEADER TERM` / `elect POSITION` / `active true\\|false` | change its role or its state |
| `commit POSITION` / `tick MS` | commit the log; let time pass, then run a cycle |
| `connect CLIENT CORRELATION [name=value ..]` | ask for a session, from an image that has the client's number |
| `backup ACTION CLIENT CORRELATION [name=value ..]` | ask for something as a backup or standby |
| `there CLIENT ..` / `gone CLIENT ..` / `refuse CLIENT REASON` | subscribe to the response channel, or no more; let the driver refuse it |
| `close TERM ID` / `keepalive TERM ID IMAGE` / `active_at ID MS` / `admin TERM ID CORRELATION TYPE` | send a message of a session |
| `answer CORRELATION ID TEXT` / `answer_backup CORRELATION ID TEXT` | answer a challenge |
| `service_close ID` / `image_gone IMAGE` | close a session by a service; lose an image of the ingress |
| `replay_open POSITION ID CLIENT` / `replay_close ID REASON` | follow the log of a leader |
| `log full\\|free` / `egress full\\|free` / `toggle taken\\|free` | say what fails |
| `driver slow\\|answers` / `results held\\|given` | say what is late |
| `load NEXT ID,..` / `snapshot` / `sessions` / `end` | go on from a snapshot; show what one keeps; show sessions; close the member |
"""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from typing import Any

from aerowire.cluster.sessions import inputs
from aerowire.cluster.sessions.authorisation import ALLOW_BACKUP_AND_STANDBY
from aerowire.cluster.sessions.cluster_session import SessionAction
from aerowire.cluster.sessions.effects import Effect, Send
from aerowire.cluster.sessions.inputs import IngressImage, StandbySnapshotEntry
from aerowire.cluster.sessions.session_manager import SessionManager
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION, SessionOptions
from aerowire.cluster.snapshots.consensus_module_snapshot import ClusterSessionRecord
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, CloseReason
from aerowire.recordings.versions import compose_version, version_text
from aerowire.security.authentication import Authenticator, ChallengeAuthenticator, SessionProxy, SimpleAuthenticator
from aerowire.security.authorisation import ALLOW_ALL
from tests.cluster.sessions.abstract_agent import AbstractAgent

MILLISECOND_NS = 1_000_000
SHORT = {
    "cluster_session_id": "id",
    "leadership_term_id": "term",
    "leader_member_id": "leader",
    "correlation_id": "correlation",
    "response_channel": "channel",
    "response_stream_id": "stream",
    "log_position": "position",
}
UNTOLD = {"kind", "version", "leader_heartbeat_timeout_ns", "payload", "request_type", "opened"}


class BrokenAuthenticator(Authenticator):
    """Fails for clients whose credentials say so, in the method that they name; authenticates a principal that is too long as `long`."""

    def __init__(self) -> None:
        self._credentials: dict[int, bytes] = {}

    def on_connect_request(self, session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        self._credentials[session_id] = encoded_credentials
        self._fail(session_id, b"request")

    def on_connected_session(self, session: SessionProxy, now_ms: int, /) -> None:
        self._fail(session.session_id, b"connected")
        if self._credentials[session.session_id] == b"long":
            session.authenticate(bytes(4097))
        if self._credentials[session.session_id] != b"never":
            super().on_connected_session(session, now_ms)

    def _fail(self, session_id: int, where: bytes) -> None:
        if self._credentials[session_id] == where:
            raise RuntimeError(f"no {where.decode()}")

    def on_session_closed(self, session_id: int, /) -> None:
        del self._credentials[session_id]


def authenticator_of(name: str) -> Authenticator:
    if name == "credentials":
        return SimpleAuthenticator({b"admin": b"secret"})
    if name == "challenge":
        return ChallengeAuthenticator(lambda *_: b"who are you", lambda _, response: response if response.startswith(b"user") else None)
    return BrokenAuthenticator() if name == "broken" else Authenticator()


def told(value: object) -> str:
    """Return an effect or a message in one line; fields that are empty, or equal in all of them, are left out."""
    parts = [type(value).__name__]
    for each in fields(value):  # type: ignore[arg-type]
        content = getattr(value, each.name)
        if each.name in UNTOLD or content in ("", b"", ()):
            continue
        if isinstance(content, Enum):
            content = content.name
        elif isinstance(content, str):
            content = repr(content)
        elif isinstance(content, bytes):
            content = content.decode()
        elif isinstance(content, tuple):
            content = ",".join(f"{entry.service_id}@{entry.log_position}" for entry in content)
        parts.append(f"{SHORT.get(each.name, each.name)}={content}")
    return " ".join(parts)


class Conversation:
    """A member, its clients, and what it does."""

    def __init__(self) -> None:
        self.agent: AbstractAgent
        self._images: dict[str, int] = {}
        self._output: list[str] = []

    def execute(self, line: str) -> str:
        """Carry a command out; return its output."""
        self._output = []
        command, *arguments = line.split()
        getattr(self, f"_do_{command}")(*arguments)
        return "\n".join(self._output) or "ok"

    def _tell(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            self._output.append(f"key={effect.key} <- {told(effect.message)}")
        else:
            self._output.append(told(effect))

    # The member

    def _do_member(self, *given: str) -> None:
        options = dict(option.split("=") for option in given)
        max_sessions = int(options.get("max", 10))
        chosen = SessionOptions(
            member_id=1,
            ingress_endpoints="0=a:1,1=b:1",
            max_sessions=max_sessions,
            session_timeout_ns=1_000 * MILLISECOND_NS,
            accept_standby_snapshots="standby" in options,
            standby_snapshot_notification_processing_delay_ns=int(options.get("delay", 0)) * MILLISECOND_NS,
        )
        authorisation = ALLOW_ALL if "authorised" in options else ALLOW_BACKUP_AND_STANDBY
        manager = SessionManager(chosen, authenticator_of(options.get("authenticator", "")), authorisation)
        self.agent = AbstractAgent(manager, max_sessions, self._tell)
        self.agent.give(inputs.ActivityChanged(True))

    def _do_lead(self, term: str, *startup: str) -> None:
        self.agent.give(inputs.LeadershipBegun(int(term), bool(startup)))

    def _do_follow(self, leader: str, term: str) -> None:
        self.agent.give(inputs.FollowingBegun(int(term), int(leader)))

    def _do_elect(self, position: str) -> None:
        self.agent.end_term(int(position))

    def _do_active(self, is_active: str) -> None:
        self.agent.give(inputs.ActivityChanged(is_active == "true"))

    def _do_commit(self, position: str) -> None:
        self.agent.give(inputs.Committed(int(position)))

    def _do_tick(self, time: str) -> None:
        self.agent.now_ns += int(time) * MILLISECOND_NS
        self.agent.tick()

    def _do_end(self) -> None:
        self.agent.close()

    # Clients

    def _image(self, client: str, options: dict[str, str]) -> IngressImage:
        number = self._images.setdefault(client, len(self._images) + 1)
        return IngressImage(int(options.get("image", number)), f"{client}:9", 100 + number)

    def _request(self, client: str, correlation: str, options: dict[str, str]) -> dict[str, Any]:
        major, minor, patch = map(int, options.get("version", version_text(PROTOCOL_VERSION)).split("."))
        return {
            "correlation_id": int(correlation),
            "response_stream_id": 102,
            "response_channel": channel_of(client),
            "image": self._image(client, options),
            "version": compose_version(major, minor, patch),
            "encoded_credentials": options.get("credentials", "").encode(),
        }

    def _do_connect(self, client: str, correlation: str, *given: str) -> None:
        options = dict(option.split("=") for option in given)
        self._count_drops(inputs.Connect(**self._request(client, correlation, options), client_info=options.get("info", "")))

    def _do_backup(self, action: str, client: str, correlation: str, *given: str) -> None:
        options = dict(option.split("=") for option in given)
        entries = tuple(standby_snapshot(int(position)) for position in options.get("snapshots", "").split(",") if position)
        request = inputs.BackupRequest(
            action=SessionAction[action],
            log_position=int(options.get("position", -1)),
            standby_snapshots=entries,
            **self._request(client, correlation, options),
        )
        self._count_drops(request)

    def _count_drops(self, request: inputs.Connect | inputs.BackupRequest) -> None:
        before = self.agent.manager.dropped_requests
        self.agent.give(request)
        if self.agent.manager.dropped_requests > before:
            self._output.append("dropped")

    def _do_there(self, *clients: str) -> None:
        for client in clients:
            self.agent.connect_client(channel_of(client), is_there=True)

    def _do_gone(self, *clients: str) -> None:
        for client in clients:
            self.agent.connect_client(channel_of(client), is_there=False)

    def _do_refuse(self, client: str, *reason: str) -> None:
        for key, channel in tuple(self.agent.responses.items()):
            if channel == channel_of(client):
                self.agent.give(inputs.ResponseFailed(key, " ".join(reason)))

    def _do_close(self, term: str, session_id: str) -> None:
        self.agent.give(inputs.Close(int(term), int(session_id)))

    def _do_keepalive(self, term: str, session_id: str, image: str) -> None:
        self.agent.give(inputs.KeepAlive(int(term), int(session_id), int(image)))

    def _do_active_at(self, session_id: str, time: str) -> None:
        self.agent.give(inputs.SessionActive(int(session_id), int(time) * MILLISECOND_NS))

    def _do_admin(self, term: str, session_id: str, correlation: str, request_type: str) -> None:
        self.agent.give(inputs.AdminRequested(int(term), int(session_id), int(correlation), AdminRequestType[request_type]))

    def _do_answer(self, correlation: str, session_id: str, *text: str) -> None:
        self.agent.give(inputs.ChallengeResponse(int(correlation), int(session_id), " ".join(text).encode()))

    def _do_answer_backup(self, correlation: str, session_id: str, *text: str) -> None:
        self.agent.give(inputs.BackupChallengeResponse(int(correlation), int(session_id), " ".join(text).encode()))

    # Services, images, the log

    def _do_service_close(self, session_id: str) -> None:
        self.agent.give(inputs.ServiceClosed(int(session_id)))

    def _do_image_gone(self, image: str) -> None:
        self.agent.give(inputs.ImageUnavailable(int(image)))

    def _do_replay_open(self, position: str, session_id: str, client: str) -> None:
        self.agent.give(inputs.OpenReplayed(int(position), 1_000 + int(session_id), int(session_id), 102, channel_of(client)))

    def _do_replay_close(self, session_id: str, reason: str) -> None:
        self.agent.give(inputs.CloseReplayed(int(session_id), CloseReason[reason]))

    # What fails, or is late

    def _do_log(self, what: str) -> None:
        self.agent.has_log_room = what == "free"

    def _do_egress(self, what: str) -> None:
        self.agent.has_egress_room = what == "free"

    def _do_driver(self, what: str) -> None:
        if what == "slow":
            self.agent.is_driver_answering = False
        else:
            self.agent.add_responses()

    def _do_results(self, what: str) -> None:
        if what == "held":
            self.agent.are_results_held = True
        else:
            self.agent.release()

    def _do_toggle(self, what: str) -> None:
        self.agent.is_snapshot_possible = what == "free"

    # Snapshots, and what there is

    def _do_load(self, next_session_id: str, ids: str) -> None:
        records = [
            ClusterSessionRecord(
                session_id=int(session_id),
                correlation_id=1_000 + int(session_id),
                opened_log_position=0,
                response_stream_id=102,
                response_channel=channel_of(f"loaded{session_id}"),
            )
            for session_id in ids.split(",")
        ]
        self.agent.load(int(next_session_id), records)

    def _do_snapshot(self) -> None:
        self._output.append(f"next={self.agent.manager.next_committed_session_id}")
        self._output += [
            f"id={record.session_id} opened={record.opened_log_position} reason={record.close_reason.name}"
            for record in self.agent.manager.records()
        ]

    def _do_sessions(self) -> None:
        manager = self.agent.manager
        open_ids = ",".join(map(str, manager.open_session_ids)) or "none"
        deadline = manager.next_deadline_ns()
        due = "never" if deadline is None else f"{(deadline - self.agent.now_ns) / MILLISECOND_NS:.0f}ms"
        self._output.append(f"open={open_ids} all={manager.session_count} responses={len(self.agent.responses)} due={due}")


def channel_of(client: str) -> str:
    return f"aeron:udp?endpoint={client}"


def standby_snapshot(log_position: int) -> StandbySnapshotEntry:
    return StandbySnapshotEntry(
        recording_id=5,
        leadership_term_id=1,
        term_base_log_position=0,
        log_position=log_position,
        timestamp=7,
        service_id=-1,
        archive_endpoint="standby:8010",
    )
