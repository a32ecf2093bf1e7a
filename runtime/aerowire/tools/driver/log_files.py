"""The log buffers of a driver's directory: which there are, and what their metadata says. Read as files, never mapped or written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aerowire.base.directory import IMAGES_DIRECTORY, LOG_SUFFIX, PUBLICATIONS_DIRECTORY
from aerowire.codecs.flyweights.logbuffer import LOG_META_DATA_LENGTH, LogMetadataDecoder


def log_path(aeron_dir: Path, registration_id: int) -> Path | None:
    """Return the log of a publication or an image; None when there is none."""
    for folder in (PUBLICATIONS_DIRECTORY, IMAGES_DIRECTORY):
        path = aeron_dir / folder / f"{registration_id}{LOG_SUFFIX}"
        if path.exists():
            return path
    return None


def log_paths(aeron_dir: Path) -> Iterator[Path]:
    """Yield every log of a directory: publications, then images, in the order in which they were made."""
    for folder in (PUBLICATIONS_DIRECTORY, IMAGES_DIRECTORY):
        paths = (aeron_dir / folder).glob(f"*{LOG_SUFFIX}")
        yield from sorted(paths, key=lambda path: (len(path.name), path.name))


def log_metadata(path: Path) -> LogMetadataDecoder | None:
    """Return a copy of a log's metadata; None when the file is gone or too short to have any."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            if file.tell() < LOG_META_DATA_LENGTH:
                return None
            file.seek(-LOG_META_DATA_LENGTH, 2)
            return LogMetadataDecoder(file.read(LOG_META_DATA_LENGTH))
    except OSError:
        return None
