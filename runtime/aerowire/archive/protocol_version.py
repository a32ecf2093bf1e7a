"""The version of the protocol between an Archive and its clients that is spoken here. Aeron: AeronArchive.Configuration."""

from __future__ import annotations

from typing import Final

from aerowire.recordings.versions import compose_version

# Client and archive compare the major version only.
PROTOCOL_VERSION: Final = compose_version(1, 12, 0)
# The first version whose archives tell their id when a client connects. Aeron: PROTOCOL_VERSION_WITH_ARCHIVE_ID.
PROTOCOL_VERSION_WITH_ARCHIVE_ID: Final = compose_version(1, 11, 0)
