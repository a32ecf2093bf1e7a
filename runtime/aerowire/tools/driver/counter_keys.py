"""What a counter's key and label say of the stream, channel or client that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from aerowire.codecs.flyweights.cnc import (
    CHANNEL_STATUS_CHANNEL_LENGTH_MAX,
    STREAM_KEY_CHANNEL_LENGTH_MAX,
    ChannelStatusKeyDecoder,
    CounterMetadataDecoder,
    CounterMetadataEncoder,
    RecordingPositionKeyDecoder,
    StreamCounterKeyDecoder,
    SystemCounterKeyDecoder,
)
from aerowire.codecs.tables.counters import CounterType, parse_label

if TYPE_CHECKING:
    from aerowire.ipc.counters import CounterInfo

# The key that each type has; None for those whose keys are not described.
_KEYS = {int(kind): CounterMetadataDecoder(CounterMetadataEncoder.encode(type_id=kind)).key_decoder() for kind in CounterType}
_TYPE_NAMES = {int(kind): kind.name.lower().replace("_", "-") for kind in CounterType}


class CounterKey(NamedTuple):
    """What identifies a counter's owner; None for what it does not have."""

    identity: int | None = None
    session_id: int | None = None
    stream_id: int | None = None
    channel: str | None = None


def type_name(type_id: int) -> str:
    """Return the name of a type of counters, as labels begin: `sub-pos`; "" for one that has none here."""
    return _TYPE_NAMES.get(type_id, "")


def key_of(counter: CounterInfo) -> CounterKey:
    """Return what a counter's key says, with the whole channel where the label has more of it."""
    try:
        match _KEYS.get(counter.type_id):
            case StreamCounterKeyDecoder():
                key = StreamCounterKeyDecoder(counter.key)
                channel = _whole_channel(counter, key.channel, STREAM_KEY_CHANNEL_LENGTH_MAX)
                return CounterKey(key.registration_id, key.session_id, key.stream_id, channel)
            case ChannelStatusKeyDecoder():
                channel = ChannelStatusKeyDecoder(counter.key).channel
                return CounterKey(counter.registration_id, channel=_whole_channel(counter, channel, CHANNEL_STATUS_CHANNEL_LENGTH_MAX))
            case RecordingPositionKeyDecoder():
                # Stream and channel stand in the label alone.
                recording, fields = RecordingPositionKeyDecoder(counter.key), parse_label(counter.type_id, counter.label) or {}
                stream_id = int(fields["stream_id"]) if fields else None
                return CounterKey(recording.recording_id, recording.session_id, stream_id, str(fields["channel"]) if fields else None)
            case SystemCounterKeyDecoder():
                return CounterKey(SystemCounterKeyDecoder(counter.key).system_counter_id)
    except ValueError:
        pass  # an application's counter that took a number of ours
    return CounterKey(counter.registration_id)


def _whole_channel(counter: CounterInfo, channel: str, length_max: int) -> str:
    """Return the channel of a key, or that of the label where the key has no room for all of it."""
    if len(channel) < length_max:
        return channel
    fields = parse_label(counter.type_id, counter.label)
    written = str(fields.get("channel", "")) if fields else ""
    return written if len(written) > len(channel) else channel
