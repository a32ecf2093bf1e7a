"""Mark files of cluster members: their bytes, which components count as living, and what is kept of one that has ended."""

from __future__ import annotations

import shutil
import struct
from dataclasses import fields, replace
from pathlib import Path

import pytest

from aerowire.agents.mark_life import check_unused
from aerowire.base.errors import ActiveClusterError, ClusterFileError, ConfigurationError
from aerowire.cluster.files.mark_file import ClusterMarkDetails, ClusterMarkFile
from aerowire.cluster.files.mark_header import ClusterMarkHeader, mark_kind
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType
from aerowire.ipc.error_log import DistinctErrorLog, read_errors
from aerowire.system.ports import Ports
from tests.cluster.files.official_text import NODES, output, printed_headers
from tests.support.component_ports import Waiting
from tests.support.component_ports import ports_of as ports_at

NOW_MS = 1_795_253_900_000
OWN = 4242
ERROR_LENGTH = 1 << 20
CONSENSUS_MODULE, CONTAINER, BACKUP = ClusterComponentType.CONSENSUS_MODULE, ClusterComponentType.CONTAINER, ClusterComponentType.BACKUP
MODULE = mark_kind(CONSENSUS_MODULE)
SERVICE = mark_kind(CONTAINER, 0)
FILES = Ports.system().files
DETAILS = ClusterMarkDetails(
    component_type=CONSENSUS_MODULE,
    archive_stream_id=10,
    service_stream_id=104,
    consensus_module_stream_id=105,
    ingress_stream_id=101,
    member_id=2,
    cluster_id=7,
    aeron_directory="/dev/shm/m2",
    control_channel="aeron:ipc?term-length=128k",
)


def ports_of(own: int = OWN, running: dict[int, int] | None = None, now_ms: int = NOW_MS) -> tuple[Ports, Waiting]:
    return ports_at(own, running, now_ms)


def created(
    directory: Path, ports: Ports | None = None, marks: Path | None = None, details: ClusterMarkDetails = DETAILS
) -> ClusterMarkFile:
    return ClusterMarkFile.create(directory, marks or directory, details, ports or ports_of()[0], error_buffer_length=ERROR_LENGTH)


def read(directory: Path) -> ClusterMarkHeader:
    return MODULE.read(FILES, directory / "cluster-mark.dat")[0]


def printed(header: ClusterMarkHeader) -> tuple[int, dict[str, str]]:
    """Return a header as the official tool prints it."""
    values = {
        "version": header.version,
        "componentType": header.component_type.name,
        "activityTimestamp": header.activity_timestamp_ms,
        "startTimestamp": header.start_timestamp_ms,
        "pid": header.pid,
        "candidateTermId": header.candidate_term_id,
        "archiveStreamId": header.archive_stream_id,
        "serviceStreamId": header.service_stream_id,
        "consensusModuleStreamId": header.consensus_module_stream_id,
        "ingressStreamId": header.ingress_stream_id,
        "memberId": header.member_id,
        "serviceId": header.service_id,
        "headerLength": header.header_length,
        "errorBufferLength": header.error_buffer_length,
        "clusterId": header.cluster_id,
        "aeronDirectory": header.aeron_directory,
        "controlChannel": header.control_channel,
        "ingressChannel": header.ingress_channel,
        "serviceName": header.service_name,
        "authenticator": header.authenticator,
        "servicesClusterDir": header.services_cluster_dir,
    }
    return header.schema_version, {name: str(value) for name, value in values.items()}


@pytest.mark.parametrize("node", NODES)
def test_official_headers_are_read_as_the_official_tool_prints_them(golden_clusters: Path, node: str) -> None:
    headers = printed_headers(output(golden_clusters / node / "tool.describe.txt"))
    found = [kind.read(FILES, golden_clusters / node / kind.file_name)[0] for kind in (MODULE, SERVICE)]
    assert [printed(header) for header in found] == headers
    assert [header.offset for header in found] == [8, 8]
    assert str(found[0].pid) == output(golden_clusters / node / "tool.pid.txt").strip()


@pytest.mark.parametrize("kind", [MODULE, SERVICE], ids=lambda kind: kind.file_name)
@pytest.mark.parametrize("node", NODES)
def test_the_same_component_makes_the_bytes_of_an_official_file(tmp_path: Path, golden_clusters: Path, node: str, kind: object) -> None:
    assert kind in (MODULE, SERVICE)
    is_service = kind is SERVICE
    path = golden_clusters / node / (SERVICE if is_service else MODULE).file_name
    header, log = MODULE.read(FILES, path)
    ports, _ = ports_of(header.pid, now_ms=header.start_timestamp_ms)
    details = ClusterMarkDetails(**{one.name: getattr(header, one.name) for one in fields(ClusterMarkDetails)})
    mark = created(tmp_path, ports, details=replace(details, member_id=-1) if is_service else details)
    mark.member_id = header.member_id
    mark.error_log_buffer[:] = log
    mark.signal_ready(header.start_timestamp_ms)
    mark.update_activity(header.activity_timestamp_ms)
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    mark.close()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_the_errors_of_an_official_member_are_read(golden_clusters: Path) -> None:
    _, log = MODULE.read(FILES, golden_clusters / "three-node-failover-kill" / "node2" / "cluster-mark.dat")
    (error,) = read_errors(log)
    assert (error.observation_count, error.first_timestamp_ms) == (1, 1_795_253_748_252)
    assert "WARN - leader heartbeat timeout" in error.text


def test_a_component_is_starting_then_ready_then_has_ended(tmp_path: Path) -> None:
    mark = created(tmp_path)
    header = read(tmp_path)
    assert (header.version, header.activity_timestamp_ms, header.pid, header.start_timestamp_ms) == (0, 0, OWN, NOW_MS)
    mark.signal_ready(NOW_MS + 5)
    mark.update_activity(NOW_MS + 1000)
    header = read(tmp_path)
    assert (header.version, header.activity_timestamp_ms, header.candidate_term_id) == (768, NOW_MS + 1000, -1)
    assert (header.member_id, header.service_id, header.cluster_id, mark.member_id) == (2, -1, 7, 2)
    mark.close()
    mark.close()
    header = read(tmp_path)
    assert (header.version, header.activity_timestamp_ms) == (768, -1)
    with pytest.raises(ValueError, match="is closed"):
        mark.member_id = 3


@pytest.mark.parametrize("is_told", [False, True])
def test_a_start_that_failed_is_told_and_followed_at_once(tmp_path: Path, is_told: bool) -> None:
    mark = created(tmp_path)
    if is_told:
        mark.signal_failed_start()
        mark._on_fork()
    else:
        mark.close()
    header = read(tmp_path)
    assert (header.version, header.activity_timestamp_ms) == (-1, -1)
    ports, waiting = ports_of(OWN + 1, {OWN: 0})
    again = created(tmp_path, ports)
    again.signal_ready(NOW_MS)
    assert (waiting.slept_ns, read(tmp_path).version) == (0, 768)
    again.close()


def test_a_module_and_its_services_share_a_directory(tmp_path: Path) -> None:
    service = replace(DETAILS, component_type=CONTAINER, member_id=-1)
    marks = [created(tmp_path), *(created(tmp_path, details=replace(service, service_id=number)) for number in range(2))]
    for kind, name in ((MODULE, "consensus module"), (mark_kind(CONTAINER, 1), "service 1")):
        with pytest.raises(ActiveClusterError, match=f"a live {name} owns the directory; .*process {OWN} holds its lock"):
            check_unused(kind, tmp_path, ports_of()[0])
    check_unused(mark_kind(CONTAINER, 2), tmp_path, ports_of()[0])
    with pytest.raises(ActiveClusterError, match="a live service 1 owns the directory"):
        created(tmp_path, details=replace(service, service_id=1))
    for mark in marks:
        mark.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["cluster-mark-service-0.dat", "cluster-mark-service-1.dat", "cluster-mark.dat"]


def test_a_killed_component_of_this_implementation_is_followed_at_once(tmp_path: Path) -> None:
    first = created(tmp_path)
    first.signal_ready(NOW_MS)
    first._on_fork()  # closes the lock file, as the end of the process does, and says nothing
    ports, waiting = ports_of(OWN + 1, {OWN: 0}, NOW_MS + 1)  # its process id is another's by now
    created(tmp_path, ports).close()
    assert waiting.slept_ns == 0


def official(directory: Path, golden_clusters: Path) -> ClusterMarkHeader:
    """Leave a killed official member's mark file in a directory; return its header."""
    shutil.copy(golden_clusters / "one-node-kill" / "node0" / "cluster-mark.dat", directory)
    return read(directory)


@pytest.mark.parametrize(
    ("age_ms", "begun_after_ms", "is_alive"),
    [(0, -5_000, True), (9_999, -5_000, True), (10_000, -5_000, False), (100, 60, False)],
)
def test_an_official_component_lives_by_process_and_timestamp(
    tmp_path: Path, golden_clusters: Path, age_ms: int, begun_after_ms: int, is_alive: bool
) -> None:
    header = official(tmp_path, golden_clusters)
    begun = {header.pid: header.start_timestamp_ms + begun_after_ms}
    ports, _ = ports_of(OWN, begun, header.activity_timestamp_ms + age_ms)
    if is_alive:
        with pytest.raises(ActiveClusterError, match=f"process {header.pid}, last activity {age_ms} ms ago"):
            created(tmp_path, ports)
    else:
        created(tmp_path, ports).close()


def test_a_dead_official_component_is_watched_only_while_its_timestamp_is_recent(tmp_path: Path, golden_clusters: Path) -> None:
    header = official(tmp_path, golden_clusters)
    ports, waiting = ports_of(now_ms=header.activity_timestamp_ms + 60_000)
    created(tmp_path, ports).close()
    assert waiting.slept_ns == 0
    official(tmp_path, golden_clusters)
    ports, waiting = ports_of(now_ms=header.activity_timestamp_ms + 100)
    created(tmp_path, ports).close()
    assert 1_200_000_000 <= waiting.slept_ns < 1_300_000_000


def test_a_backup_may_become_a_member_and_nothing_else_changes_its_kind(tmp_path: Path) -> None:
    created(tmp_path, details=replace(DETAILS, component_type=BACKUP)).close()
    created(tmp_path).close()
    before = (tmp_path / "cluster-mark.dat").read_bytes()
    expected = f"is of another component; at {tmp_path}/cluster-mark.dat, offset 12; expected UNKNOWN or BACKUP; got CONSENSUS_MODULE"
    with pytest.raises(ClusterFileError, match=expected):
        created(tmp_path, details=replace(DETAILS, component_type=BACKUP))
    assert (tmp_path / "cluster-mark.dat").read_bytes() == before


def test_a_file_without_a_message_header_is_taken_over_with_its_candidate_term(tmp_path: Path, golden_clusters: Path) -> None:
    header = official(tmp_path, golden_clusters)
    path = tmp_path / "cluster-mark.dat"
    data = bytearray(path.read_bytes())
    data[40:48] = struct.pack("<q", 9)
    old = data[8:].ljust(len(data), b"\0")
    path.write_bytes(old)
    found = read(tmp_path)
    assert (found.offset, found.candidate_term_id, found.schema_version) == (0, 9, 0)
    assert (found.aeron_directory, found.services_cluster_dir) == (header.aeron_directory, "")
    mark = created(tmp_path, ports_of(now_ms=header.activity_timestamp_ms + 60_000)[0])
    assert (mark.candidate_term_id, read(tmp_path).offset, read(tmp_path).aeron_directory) == (9, 8, "/dev/shm/m2")
    mark.close()


def test_errors_are_kept_aside_by_kind_and_the_log_is_empty_again(tmp_path: Path) -> None:
    first = created(tmp_path)
    first.signal_ready(NOW_MS)
    DistinctErrorLog(first.error_log_buffer).record("the quorum is gone", NOW_MS)
    first.close()
    second = created(tmp_path)
    assert second.saved_errors is not None
    assert second.saved_errors.name.startswith("CONSENSUS_MODULE-2026-")
    assert "the quorum is gone" in second.saved_errors.read_text()
    assert not any(second.error_log_buffer)
    second.close()


def test_a_mark_file_elsewhere_is_found_by_its_link(tmp_path: Path) -> None:
    marks, cluster = tmp_path / "marks", tmp_path / "cluster"
    marks.mkdir()
    cluster.mkdir()
    service = replace(DETAILS, component_type=CONTAINER, service_id=0)
    created(cluster, marks=marks).close()
    created(cluster, marks=marks, details=service).close()
    assert {path.name: path.read_text() for path in cluster.iterdir()} == {
        "cluster-mark.lnk": str(marks),
        "cluster-mark-service-0.lnk": str(marks),
    }
    assert SERVICE.path(FILES, cluster) == marks / "cluster-mark-service-0.dat"
    created(cluster).close()
    assert (MODULE.directory(FILES, cluster), SERVICE.directory(FILES, cluster)) == (cluster, marks)


@pytest.mark.parametrize(
    ("at", "data", "message"),
    [
        (8, b"\0\0\1\0", "is of another version; at {}, offset 8; expected 0.3.0 or another 0.x; got 1.0.0"),
        (136, b"\xff\xff\xff\x7f", "is damaged; at {}, offset 8; expected fields and texts"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path, golden_clusters: Path, at: int, data: bytes, message: str) -> None:
    official(tmp_path, golden_clusters)
    path = tmp_path / "cluster-mark.dat"
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)
    before = path.read_bytes()
    with pytest.raises(ClusterFileError, match=message.format(path)):
        created(tmp_path)
    assert path.read_bytes() == before


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected 8192 bytes at most; got 8376"):
        created(tmp_path, details=replace(DETAILS, authenticator="x" * 8179))
    with pytest.raises(ConfigurationError, match="expected 1048576 bytes at least; got 1048575"):
        ClusterMarkFile.create(tmp_path, tmp_path, DETAILS, ports_of()[0], error_buffer_length=ERROR_LENGTH - 1)
    assert list(tmp_path.iterdir()) == []
