"""Channel URIs from keywords instead of text. Aeron: ChannelUriStringBuilder.

build_channel("udp", endpoint="localhost:20121", term_length="64k", reliable=False)
"""

from __future__ import annotations

from aerowire.base.channel_keys import check_channel
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, TERM_LENGTH_MAX, TERM_LENGTH_MIN


def build_channel(media: str, *, is_spy: bool = False, **parameters: str | int | bool | None) -> str:
    """Return the channel URI of a medium, "udp" or "ipc", with the given parameters, checked.

    A parameter's name has `_` in place of `-`: `term_length=65536`, `control_mode="dynamic"`. True and False become `true` and `false`;
    None leaves a parameter out. Raises UnknownChannelKeyError, ChannelValueError.
    """
    given = {name.replace("_", "-"): _text(value) for name, value in parameters.items() if value is not None}
    channel = str(ChannelUri(media, given, is_spy))
    check_channel(channel)
    return channel


def initial_position(position: int, initial_term_id: int, term_length: int) -> dict[str, int]:
    """Return the parameters of a channel whose stream begins at `position`, for `build_channel(..., **initial_position(...))`.

    Aeron: ChannelUriStringBuilder.initialPosition.
    """
    if position < 0 or position % FRAME_ALIGNMENT:
        raise ConfigurationError(
            "a stream cannot begin there", where="position", expected=f"a multiple of {FRAME_ALIGNMENT}, from 0", actual=position
        )
    if not TERM_LENGTH_MIN <= term_length <= TERM_LENGTH_MAX or term_length & (term_length - 1):
        raise ConfigurationError(
            "bad term length",
            where="term_length",
            expected=f"a power of two from {TERM_LENGTH_MIN} to {TERM_LENGTH_MAX}",
            actual=term_length,
        )
    terms, offset = divmod(position, term_length)
    term_id = (initial_term_id + terms + (1 << 31)) % (1 << 32) - (1 << 31)  # wraps as 32 bits do
    return {"init_term_id": initial_term_id, "term_id": term_id, "term_offset": offset, "term_length": term_length}


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
