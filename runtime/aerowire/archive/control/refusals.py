"""The refusal of a request, with the error code and the text of its response."""

from __future__ import annotations

from aerowire.base.errors import AerowireError
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode


class RequestRefusedError(AerowireError):
    """A request that breaks a rule; the control session answers it with `code` and the text."""

    def __init__(self, text: str, code: ArchiveErrorCode = ArchiveErrorCode.GENERIC) -> None:
        super().__init__(text, error_code=code)
        self.code = code


def unknown_recording(recording_id: int) -> RequestRefusedError:
    """Return the refusal of a request for a recording that the catalog does not have."""
    return RequestRefusedError(f"unknown recording id: {recording_id}", ArchiveErrorCode.UNKNOWN_RECORDING)


def active_listing() -> RequestRefusedError:
    """Return the refusal of a second listing of a session."""
    return RequestRefusedError("active listing already in progress", ArchiveErrorCode.ACTIVE_LISTING)
