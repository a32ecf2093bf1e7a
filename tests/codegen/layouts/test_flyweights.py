"""What moves behind the fixed part: lengths, alignment, entries, choices, and bytes that are too short for what they say."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest

from aerowire.codecs.flyweights import cnc, commands, logbuffer, transport


def test_two_strings_are_padded_to_four_bytes_between_them() -> None:
    data = commands.AddCounterEncoder.encode(client_id=1, correlation_id=2, type_id=3, key=b"abcde", label="xyz")
    assert data.hex() == "01000000000000000200000000000000030000000500000061626364650000000300000078797a"
    decoder = commands.AddCounterDecoder(data)
    assert decoder.to_dict() == {"client_id": 1, "correlation_id": 2, "type_id": 3, "key_length": 5, "key": b"abcde", "label": "xyz"}
    assert decoder.encoded_length == len(data)


def test_setters_in_order_write_what_encode_writes() -> None:
    buffer = bytearray(64)
    encoder = commands.AvailableImageEncoder(buffer)
    encoder.session_id = 7
    encoder.log_file = "abcde"
    encoder.source_identity = "127.0.0.1:40123"
    data = commands.AvailableImageEncoder.encode(session_id=7, log_file="abcde", source_identity="127.0.0.1:40123")
    assert bytes(buffer[: encoder.encoded_length]) == data


def test_group_tag_is_there_only_when_the_frame_is_long_enough() -> None:
    without = transport.StatusMessageEncoder.encode(receiver_id=-1)
    tagged = transport.StatusMessageEncoder.encode(group_tag=-2)
    assert (len(without), transport.StatusMessageDecoder(without).group_tag) == (36, None)
    assert (len(tagged), transport.StatusMessageDecoder(tagged).group_tag) == (44, -2)
    assert transport.StatusMessageDecoder(without + bytes(8)).group_tag is None


def test_older_form_of_remove_publication_has_no_flags() -> None:
    assert commands.RemovePublicationDecoder(bytes(24)).flags is None
    assert commands.RemovePublicationDecoder(commands.RemovePublicationEncoder.encode()).flags == 0
    assert len(commands.RemovePublicationEncoder.encode(flags=None)) == 24


def test_resolution_entries_start_on_multiples_of_eight() -> None:
    first = transport.ResolutionEntryEncoder.encode(res_type=transport.ResType.NAME_TO_IP4_MD, address=b"\x7f\0\0\1", name="bob")
    second = transport.ResolutionEntryEncoder.encode(
        res_type=transport.ResType.NAME_TO_IP6_MD, res_flags=transport.ResFlags.SELF, udp_port=8050, age_ms=9, address=bytes(16), name="al"
    )
    assert (len(first), len(second)) == (17, 28)
    data = transport.ResolutionEncoder.encode(entries=[first, second])
    decoder = transport.ResolutionDecoder(data)
    assert len(data) == decoder.frame_length == 8 + 24 + 32
    assert [entry.name for entry in decoder.entries] == ["bob", "al"]
    assert bytes(decoder.entries[0].address) == b"\x7f\0\0\1"
    assert decoder.entries[1].udp_port == 8050


def test_payload_ends_where_the_frame_says_and_not_at_its_alignment() -> None:
    data = transport.DataHeaderEncoder.encode(payload=b"hello") + bytes(27)
    decoder = transport.DataHeaderDecoder(data)
    assert (decoder.frame_length, bytes(decoder.payload), decoder.flags) == (37, b"hello", transport.DataFlags.UNFRAGMENTED)


@pytest.mark.parametrize("frame_length", [0, -64, -(2**31)])
def test_heartbeat_and_unfinished_frames_have_no_payload(frame_length: int) -> None:
    data = transport.DataHeaderEncoder.encode(frame_length=frame_length, payload=b"hello")
    assert bytes(transport.DataHeaderDecoder(data).payload) == b""


def test_padding_frame_may_declare_more_than_the_packet_holds() -> None:
    data = transport.DataHeaderEncoder.encode(type=transport.FrameType.PAD, frame_length=4096)
    assert bytes(transport.DataHeaderDecoder(data).payload) == b""


@pytest.mark.parametrize("length", [0, 7, 27])
def test_too_few_bytes_for_the_fixed_part_are_refused_with_what_where_expected_and_found(length: int) -> None:
    with pytest.raises(ValueError, match=rf"NakDecoder: needs 28 bytes at offset 4, found {length} of a buffer of {length + 4}"):
        transport.NakDecoder(bytes(length + 4), 4)


@pytest.mark.parametrize("declared", [-1, 5, 2**31 - 1])
def test_text_that_runs_past_its_struct_is_refused(declared: int) -> None:
    data = commands.AddPublicationEncoder.encode(channel="aero", channel_length=declared)
    with pytest.raises(ValueError, match=rf"AddPublicationDecoder: channel of {declared} bytes at 24 does not fit its 28 bytes"):
        _ = commands.AddPublicationDecoder(data).channel


def test_length_behind_the_end_is_refused() -> None:
    data = commands.AddCounterEncoder.encode(key=b"abc")[:26]
    with pytest.raises(ValueError, match="AddCounter"):
        _ = commands.AddCounterDecoder(data).label


def test_unknown_kind_of_address_is_refused() -> None:
    entry = transport.ResolutionEntryEncoder.encode(res_type=7, address=bytes(4), name="x")
    with pytest.raises(ValueError, match="ResolutionEntryDecoder: address"):
        _ = transport.ResolutionEntryDecoder(entry).name


def test_bytes_that_are_no_text_are_shown_and_not_raised() -> None:
    data = commands.ErrorResponseEncoder.encode(error_message=b"\xff")
    assert commands.ErrorResponseDecoder(data).error_message == "\N{REPLACEMENT CHARACTER}"


def test_key_of_a_counter_is_decoded_by_its_type() -> None:
    key = cnc.StreamCounterKeyEncoder.encode(registration_id=1, session_id=-2, stream_id=3, channel="aeron:ipc")
    decoder = cnc.CounterMetadataDecoder(cnc.CounterMetadataEncoder.encode(type_id=4, key=key))
    found = decoder.key_decoder()
    assert isinstance(found, cnc.StreamCounterKeyDecoder)
    assert (found.session_id, found.channel) == (-2, "aeron:ipc")
    assert cnc.CounterMetadataDecoder(cnc.CounterMetadataEncoder.encode(type_id=114)).key_decoder() is None


def test_key_of_a_recording_has_its_archive_behind_the_source_identity() -> None:
    archive = cnc.ArchiveCounterKeyEncoder.encode(archive_id=-9)
    key = cnc.RecordingPositionKeyEncoder.encode(recording_id=5, session_id=-2, source_identity="10.0.0.1:7", archive=[archive])
    assert key == bytes.fromhex("0500000000000000" + "feffffff" + "0a000000") + b"10.0.0.1:7" + bytes.fromhex("f7ffffffffffffff")
    found = cnc.CounterMetadataDecoder(cnc.CounterMetadataEncoder.encode(type_id=100, key=key)).key_decoder()
    assert isinstance(found, cnc.RecordingPositionKeyDecoder)
    assert (found.source_identity, [one.archive_id for one in found.archive]) == ("10.0.0.1:7", [-9])


@pytest.mark.parametrize(("raw", "term_id", "term_offset"), [(0, 0, 0), (-(1 << 32), -1, 0), ((1 << 63) - 1, 2**31 - 1, 2**32 - 1)])
def test_raw_tail_is_a_term_and_an_offset(raw: int, term_id: int, term_offset: int) -> None:
    assert logbuffer.log_metadata_tail_counters_term_id(raw) == term_id
    assert logbuffer.log_metadata_tail_counters_term_offset(raw) == term_offset
    assert logbuffer.log_metadata_tail_counters_pack(term_id, term_offset) == raw


def test_version_is_three_bytes() -> None:
    parts = cnc.cnc_header_version_major, cnc.cnc_header_version_minor, cnc.cnc_header_version_patch
    assert [part(cnc.CNC_VERSION) for part in parts] == [0, 2, 0]
    assert cnc.cnc_header_version_pack(1, 0, 0) == cnc.CONTROL_PROTOCOL_VERSION


def test_sections_of_the_default_cnc_file_are_those_of_a_live_one() -> None:
    """A live C driver's file with default options is 48,238,592 bytes long."""
    layout = cnc.CncFile(1024 * 1024 + 768, 1024 * 1024 + 128, 32 << 20, 8 << 20, 4 << 20, 4096)
    assert (layout.to_driver_offset, layout.to_clients_offset) == (128, 128 + 1024 * 1024 + 768)
    assert layout.error_log_offset == 128 + 2 * 1024 * 1024 + 896 + (40 << 20)
    assert layout.total_length == 48_238_592


def test_length_of_a_log_file_is_that_of_a_live_one() -> None:
    layout = logbuffer.LogFile(65536, 4096)
    assert (layout.metadata_offset, layout.total_length) == (196_608, 200_704)


def test_any_buffer_will_do() -> None:
    data = transport.NakEncoder.encode(length=64)
    with mmap.mmap(-1, 4096) as mapped:
        mapped[: len(data)] = data
        sources: list[Any] = [data, bytearray(data), memoryview(data), np.frombuffer(data, np.int32)]
        assert [transport.NakDecoder(source).length for source in sources] == [64] * 4
        decoder = transport.NakDecoder(mapped)
        assert decoder.length == 64
        del decoder


def test_decoder_is_found_by_type() -> None:
    data = transport.RttmEncoder.encode(echo_timestamp_ns=5)
    decoder = transport.FRAME_DECODERS[transport.FrameHeaderDecoder(data).type](data)
    assert repr(decoder) == (
        "RttmDecoder(frame_length=40, version=0, flags=0, type=6, session_id=0, stream_id=0, echo_timestamp_ns=5, "
        "reception_delta_ns=0, receiver_id=0)"
    )
    assert set(commands.COMMAND_DECODERS) == {member.value for member in commands.CommandType}
