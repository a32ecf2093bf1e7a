"""The clients of a driver: what their heartbeat counters say, and which processes they are in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.tables.counters import CounterType, parse_label
from aerowire.tools.driver.client_processes import FileIdentity, file_identity, users_of
from aerowire.tools.driver.log_files import log_path

if TYPE_CHECKING:
    from aerowire.ipc.counters import CounterInfo

# How our client tells its process, behind what every client says.
_PID_MARK = " pid="


@dataclass(frozen=True, slots=True)
class Client:
    """A client. `pids` are the processes that it may be in: mostly one, none when nothing is known."""

    client_id: int
    name: str = ""
    version: str = ""
    heartbeat_ms: int | None = None
    announced_pid: int | None = None
    pids: tuple[int, ...] = field(default=())

    @property
    def title(self) -> str:
        """How it is called among people."""
        return self.name or f"client {self.client_id}"

    @property
    def pid_text(self) -> str:
        """Its process, or those that it may be."""
        return " or ".join(map(str, self.pids))

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "client_id": self.client_id,
            "name": self.name,
            "version": self.version,
            "heartbeat_ms": self.heartbeat_ms,
            "pids": list(self.pids),
        }


def clients_of(counters: Iterable[CounterInfo]) -> dict[int, Client]:
    """Return the clients by id, their processes not yet known."""
    found = {}
    for item in counters:
        if item.type_id == CounterType.CLIENT_HEARTBEAT:
            fields = parse_label(item.type_id, item.label) or {}
            _, _, pid = str(fields.get("commit", "")).rpartition(_PID_MARK)
            found[item.registration_id] = Client(
                item.registration_id,
                str(fields.get("client_name", "")),
                str(fields.get("version", "")),
                item.value,
                int(pid) if pid.isdecimal() else None,
            )
    return found


def with_processes(clients: dict[int, Client], counters: Iterable[CounterInfo], aeron_dir: Path, driver_pid: int) -> dict[int, Client]:
    """Return the clients with the processes that they are in, as far as the system tells: who maps what belongs to them."""
    users = users_of(aeron_dir / CNC_FILE_NAME)
    logs = _logs_by_client(counters, aeron_dir)
    return {
        client.client_id: replace(client, pids=_pids(client, users, logs.get(client.client_id, set()), driver_pid))
        for client in clients.values()
    }


def _pids(client: Client, users: dict[int, frozenset[FileIdentity]], logs: set[FileIdentity], driver_pid: int) -> tuple[int, ...]:
    if client.announced_pid in users or client.announced_pid == driver_pid:
        return (client.announced_pid,)
    # The driver maps everything; a client is in its process only when no other one fits.
    fitting = sorted(pid for pid, files in users.items() if logs <= files and pid != driver_pid)
    return tuple(fitting) or ((driver_pid,) if driver_pid in users and logs <= users[driver_pid] else ())


def _logs_by_client(counters: Iterable[CounterInfo], aeron_dir: Path) -> dict[int, set[FileIdentity]]:
    found: dict[int, set[FileIdentity]] = {}
    for item in counters:
        if item.type_id not in {CounterType.PUB_POS, CounterType.SUB_POS}:
            continue
        registration_id = item.registration_id if item.type_id == CounterType.PUB_POS else item.reference_id
        path = log_path(aeron_dir, registration_id)
        identity = file_identity(path) if path is not None else None
        if identity is not None:
            found.setdefault(item.owner_id, set()).add(identity)
    return found
