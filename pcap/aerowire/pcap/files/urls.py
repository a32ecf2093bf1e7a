"""URLs of files, as Spark hands them over."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from aerowire.pcap.errors import CaptureError


def local_path(path: str) -> str:
    """Return the path of a URL of this machine's files.  Raises CaptureError for others."""
    parts = urlsplit(path)
    if parts.scheme not in ("", "file"):
        raise CaptureError(f"{path}: only local files are read, found scheme {parts.scheme!r}")
    return unquote(parts.path) if parts.scheme else path
