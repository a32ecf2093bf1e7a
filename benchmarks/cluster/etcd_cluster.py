"""Clusters of etcd for the script that compares with it, built from its Go modules, which only that script needs."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cluster.clusters import STALL_LIMIT_S, wait
from tests.interop.harness import WORK, locked_work
from tests.support.processes import free_port

VERSION = "3.6.16"
SERVER, CLIENT = "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/client/v3"
SOURCE = Path(__file__).parent / "load.go"
MEMBERS = 3
END_LIMIT_S = 30.0


class EtcdUnavailableError(Exception):
    """Why there is no etcd to compare with."""


@dataclass(frozen=True)
class Etcd:
    """The server, and the client that loads it."""

    server: Path
    load: Path


@dataclass(frozen=True)
class RunningEtcd:
    """A cluster, by the endpoint of its leader."""

    leader_endpoint: str


def find_etcd() -> Etcd:
    """Return etcd, built by Go from modules that its proxy has. Raises EtcdUnavailableError."""
    go = shutil.which("go")
    if go is None:
        raise EtcdUnavailableError("there is no etcd: no go on PATH to build it by")
    with locked_work("etcd-lock"):
        return _build_etcd(go, WORK / f"etcd-{VERSION}")


def _build_etcd(go: str, folder: Path) -> Etcd:
    """Return etcd, with the server as it was built before, if it was."""
    found = Etcd(folder / "etcd", folder / "load")
    if not found.server.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("go.mod", "go.sum"):
            (folder / name).unlink(missing_ok=True)
        _run(go, folder, "mod", "init", "aerowire.invalid/etcd")
        _run(go, folder, "get", f"{SERVER}@v{VERSION}", f"{CLIENT}@v{VERSION}")
        _run(go, folder, "build", "-o", found.server.name, SERVER)
    shutil.copy(SOURCE, folder / SOURCE.name)
    _run(go, folder, "build", "-o", found.load.name, SOURCE.name)
    return found


def _run(go: str, folder: Path, *arguments: str) -> None:
    done = subprocess.run([go, *arguments], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise EtcdUnavailableError(f"there is no etcd: go {arguments[0]} failed: {done.stderr.strip()[-300:]}")


@contextmanager
def running_etcd(etcd: Etcd, place: str | None, *, is_synced: bool) -> Iterator[RunningEtcd]:
    """Run three members in processes of their own, and lend the cluster once it has a leader."""
    clients, peers = ([f"http://127.0.0.1:{free_port()}" for _ in range(MEMBERS)] for _ in range(2))
    members = ",".join(f"member-{number}={peer}" for number, peer in enumerate(peers))
    with tempfile.TemporaryDirectory(prefix="etcd-bench-", dir=place) as folder, ExitStack() as stack:
        for number, (client, peer) in enumerate(zip(clients, peers, strict=True)):
            options = {
                "name": f"member-{number}",
                "data-dir": f"{folder}/member-{number}",
                "listen-client-urls": client,
                "advertise-client-urls": client,
                "listen-peer-urls": peer,
                "initial-advertise-peer-urls": peer,
                "initial-cluster": members,
                "log-level": "panic",
            }
            command = [str(etcd.server), *(f"--{name}={value}" for name, value in options.items())]
            command += [] if is_synced else ["--unsafe-no-fsync"]
            stack.callback(_end, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
        found: list[str] = []

        def has_leader() -> bool:
            found[:] = [client for client in clients if _is_leading(client)]
            return len(found) == 1

        wait(has_leader, "a leader of etcd")
        time.sleep(1)  # followers learn of the leader
        yield RunningEtcd(found[0])


def load_etcd(etcd: Etcd, cluster: RunningEtcd, *numbers: int) -> dict[str, float]:
    """Run the client with the numbers that load.go takes, and return what it has found."""
    command = [str(etcd.load), cluster.leader_endpoint, *map(str, numbers)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True, timeout=10 * STALL_LIMIT_S)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _is_leading(endpoint: str) -> bool:
    with suppress(OSError, ValueError, KeyError):
        request = urllib.request.Request(f"{endpoint}/v3/maintenance/status", data=b"{}", method="POST")
        with urllib.request.urlopen(request, timeout=1) as answer:
            status: dict[str, Any] = json.load(answer)
        return bool(status["leader"] == status["header"]["member_id"])
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(END_LIMIT_S)
