"""Files that an official archive and a cluster node wrote, read by our schemas: catalog, mark files, the node's state."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.codegen.sbe.interpreter import DecodedMessage, MessageCodec
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sources import default_spec
from tests.interop.harness import Java

pytestmark = pytest.mark.interop

HEADER = struct.Struct("<4H")
ERROR_LOG_OFFSET = 8192
MEBIBYTE = 1 << 20


def codec_of(name: str) -> MessageCodec:
    return MessageCodec(load_message_schema(default_spec() / f"{name}.xml"))


def read_bare(codec: MessageCodec, name: str, data: bytes) -> DecodedMessage:
    """Read a message that stands in a file without a header, as a writer of our version wrote it."""
    message = next(one for one in codec.schema.messages if one.name == name)
    return codec.decode(HEADER.pack(message.block_length, message.id, codec.schema.id, codec.schema.version) + data)


def values_of(decoded: DecodedMessage) -> dict[str, Any]:
    return decoded.values


def selected(values: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(values[name] for name in names)


@pytest.fixture(scope="module")
def archive(java: Java, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A folder of an archive that has recorded, and the numbers of the recording: its id, session, first term and length."""
    folder = tmp_path_factory.mktemp("archive")
    told = java.run_tool("NodeFiles", folder / "aeron", "archive", str(folder / "archive"), str(folder / "aeron"))
    return folder / "archive", [int(word) for word in told.split()]


@pytest.fixture(scope="module")
def node(java: Java, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("node")
    java.run_tool("NodeFiles", folder, "cluster", str(folder))
    return folder


def test_reads_the_catalog(archive: tuple[Path, list[int]]) -> None:
    folder, (recording_id, session_id, initial_term_id, length) = archive
    data, codec = (folder / "archive.catalog").read_bytes(), codec_of("archive")
    head = values_of(read_bare(codec, "CatalogHeader", data))
    assert selected(head, "version", "length", "nextRecordingId", "alignment") == (3 << 16 | 1 << 8, 32, 1, 64)
    entry = values_of(read_bare(codec, "RecordingDescriptorHeader", data[32:]))
    assert entry["state"].name == "VALID"
    assert (entry["length"] + 32) % 64 == 0
    descriptor = read_bare(codec, "RecordingDescriptor", data[64:])
    found = values_of(descriptor)
    assert descriptor.length - HEADER.size <= entry["length"]
    assert selected(found, "recordingId", "sessionId", "initialTermId", "streamId") == (
        recording_id,
        session_id,
        initial_term_id,
        1001,
    )
    assert selected(found, "startPosition", "stopPosition", "termBufferLength", "segmentFileLength") == (0, length, 65536, 65536)
    assert found["startTimestamp"] <= found["stopTimestamp"]
    assert found["strippedChannel"] == f"aeron:ipc?session-id={session_id}|alias=for-the-catalog"
    assert found["originalChannel"] == f"aeron:ipc?term-length=64k|session-id={session_id}|alias=for-the-catalog"
    assert found["sourceIdentity"] == "aeron:ipc"


def test_reads_the_mark_file_of_an_archive(archive: tuple[Path, list[int]]) -> None:
    folder, _ = archive
    data = (folder / "archive-mark.dat").read_bytes()
    mark = values_of(codec_of("archive_mark").decode(data))
    assert selected(mark, "version", "archiveId", "controlStreamId", "localControlStreamId") == (3 << 16 | 1 << 8, 77, 10, 10)
    assert selected(mark, "headerLength", "errorBufferLength") == (ERROR_LOG_OFFSET, MEBIBYTE)
    assert len(data) == ERROR_LOG_OFFSET + MEBIBYTE
    assert mark["startTimestamp"] > 0
    assert mark["localControlChannel"].startswith("aeron:ipc")
    assert mark["aeronDirectory"] == str(folder.parent / "aeron")


def test_reads_the_mark_file_of_a_consensus_module(node: Path) -> None:
    values = values_of(codec_of("cluster_mark").decode((node / "cluster-mark.dat").read_bytes()))
    assert values["componentType"].name == "CONSENSUS_MODULE"
    assert selected(values, "version", "activityTimestamp", "candidateTermId") == (3 << 8, 1234, -1)
    streams = ("archiveStreamId", "serviceStreamId", "consensusModuleStreamId", "ingressStreamId")
    assert selected(values, *streams) == (10, 104, 105, 101)
    assert selected(values, "memberId", "serviceId", "clusterId") == (2, -1, 3)
    assert selected(values, "headerLength", "errorBufferLength") == (ERROR_LOG_OFFSET, MEBIBYTE)
    assert selected(values, "aeronDirectory", "controlChannel", "ingressChannel") == ("/dev/shm/aeron", "aeron:ipc", "aeron:udp")
    assert selected(values, "serviceName", "authenticator", "servicesClusterDir") == ("", "nobody", "")


def records_of(codec: MessageCodec, data: bytes, at: int) -> Iterator[DecodedMessage]:
    """Read the records of a node's state up to its footer."""
    while True:
        record = codec.decode(data, at)
        yield record
        if record.message.name == "nodeStateFooter":
            return
        length = record.header["frameLength"]
        assert length == record.length
        assert isinstance(length, int)
        at += length + -length % 8


def test_reads_the_state_of_a_node(node: Path) -> None:
    data, codec = (node / "node-state.dat").read_bytes(), codec_of("cluster_node_state")
    message = codec.schema.message(300)
    assert message is not None
    (version,) = struct.unpack_from("<i", data)
    assert (message.name, version) == ("nodeStateHeader", 3 << 8)
    term, footer = records_of(codec, data, message.block_length)
    assert (term.message.name, term.values) == ("candidateTerm", {"candidateTermId": 5, "timestamp": 99, "logPosition": 8192})
    assert footer.header["frameLength"] == 16
