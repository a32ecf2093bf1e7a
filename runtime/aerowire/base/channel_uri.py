"""The syntax of channel URIs: `[aeron-spy:]aeron:media?key=value|key=value`.

Parses a URI and writes it back. Keys and values may be anything, as with the official drivers, who know of no more keys than they
read: `base.channel_keys` is stricter, and what a value means for a stream is the driver's business. Aeron: ChannelUri.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from aerowire.base import units
from aerowire.base.errors import ChannelError, ChannelValueError, ConfigurationError
from aerowire.codecs.tables.errors import ErrorCode

SCHEME = "aeron"
SPY_PREFIX = "aeron-spy"
MEDIA_UDP = "udp"
MEDIA_IPC = "ipc"
IPC_CHANNEL = f"{SCHEME}:{MEDIA_IPC}"

# A driver's counter keys, records and commands are sized for it; longer URIs are refused whole.
URI_LENGTH_MAX = 4095

# A tag of -1 means "no tag", so that nobody may use it.
TAG_INVALID = -1
_TAG_PREFIX = "tag:"

RESERVED_OFFSET = "reserved"
PROTOTYPE_CORRELATION_ID = "prototype"


@dataclass(slots=True)
class ChannelUri:
    """A parsed channel URI; `original` is the text that was parsed.

    Invariant: `media` is udp or ipc.
    """

    media: str
    parameters: dict[str, str] = field(default_factory=dict)
    is_spy: bool = False
    original: str = field(default="", compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> ChannelUri:
        """Parse `text`; raises a `ChannelError` that names the offending part and the whole URI."""
        if len(text) > URI_LENGTH_MAX:
            raise _error("channel URI is too long", text[:64] + "...", f"at most {URI_LENGTH_MAX} characters", len(text))
        rest = text
        is_spy = rest.startswith(SPY_PREFIX + ":")
        if is_spy:
            rest = rest[len(SPY_PREFIX) + 1 :]
        if not rest.startswith(SCHEME + ":"):
            raise _error(
                "channel URI has an unknown scheme", text, f"'{SCHEME}:' or '{SPY_PREFIX}:{SCHEME}:'", repr(rest.split(":", 1)[0] + ":")
            )
        media, separator, tail = rest[len(SCHEME) + 1 :].partition("?")
        if media not in {MEDIA_UDP, MEDIA_IPC}:
            raise _error("channel URI has an unknown media", text, f"{MEDIA_UDP} or {MEDIA_IPC}", repr(media))
        parameters = dict(_split_parameters(text, tail)) if separator else {}
        return cls(media, parameters, is_spy, text)

    @property
    def is_ipc(self) -> bool:
        return self.media == MEDIA_IPC

    @property
    def is_udp(self) -> bool:
        return self.media == MEDIA_UDP

    def get(self, key: str) -> str | None:
        """Return the value of `key`, or None."""
        return self.parameters.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self.parameters

    @property
    def channel_tag(self) -> int | None:
        """The first of `tags`, which names the channel's endpoint. Raises ChannelValueError when it is not an integer."""
        return self._tag(0)

    @property
    def entity_tag(self) -> int | None:
        """The second of `tags`, which names a publication. Raises ChannelValueError when it is not an integer."""
        return self._tag(1)

    def _tag(self, index: int) -> int | None:
        text = self.parameters.get("tags")
        parts = [] if text is None else text.split(",")
        if len(parts) <= index:
            return None
        try:
            return units.parse_integer("tags", parts[index], units.INT64_MIN, units.INT64_MAX)
        except ConfigurationError as error:
            raise ChannelValueError(
                "a tag is not an integer", where=self, expected=error.expected, actual=f"tags={text}", error_code=ErrorCode.INVALID_CHANNEL
            ) from None

    def __str__(self) -> str:
        prefix = f"{SPY_PREFIX}:" if self.is_spy else ""
        text = "|".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{prefix}{SCHEME}:{self.media}" + (f"?{text}" if text else "")


def session_tag(text: str) -> str | None:
    """Return what stands behind `tag:` in a `session-id`, or None when it is a plain id."""
    return text[len(_TAG_PREFIX) :] if text.startswith(_TAG_PREFIX) else None


def _split_parameters(uri: str, tail: str) -> Iterator[tuple[str, str]]:
    for part in tail.split("|"):
        key, separator, value = part.partition("=")
        if not separator or not key:
            raise _error("channel URI has a malformed parameter", uri, "key=value", repr(part), hint="parameters are separated by '|'")
        yield key, value


def _error(what: str, where: str, expected: str, actual: object, *, hint: str | None = None) -> ChannelError:
    return ChannelError(
        what, where=where or "an empty channel", expected=expected, actual=actual, hint=hint, error_code=ErrorCode.INVALID_CHANNEL
    )
