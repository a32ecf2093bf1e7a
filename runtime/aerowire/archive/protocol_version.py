"""The version of the Archive's client protocol that is spoken here. Aeron: AeronArchive.Configuration."""

from __future__ import annotations

from typing import Final

from aerowire.recordings.versions import compose_version

PROTOCOL_VERSION: Final = compose_version(1, 12, 0)
