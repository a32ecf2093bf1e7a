"""Directories as older versions of the Archive would have left them, made of those of today."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.codecs.flyweights.archive import RecordingDescriptorHeaderEncoder
from aerowire.recordings.catalog_layout import CatalogHeader
from aerowire.recordings.versions import compose_version
from aerowire.system.file_system import FileSystem

SLOT = 1024


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def aged(directory: Path, major: int) -> None:
    """Turn a directory of version 3 into what an Archive of an older one would have left."""
    version = compose_version(major, 0, 0) or compose_version(0, 0, 1)  # 0 would say that an archive is starting
    with OfflineCatalog(FileSystem(), directory) as catalog:
        data = replace(CatalogHeader(), version=version, alignment=0).encode().ljust(SLOT, b"\0")
        for entry in catalog.entries:
            slot = catalog.entry_bytes(entry)
            RecordingDescriptorHeaderEncoder().wrap(slot).length = len(bytes(slot).rstrip(b"\0")) - 32
            data += slot.ljust(SLOT, b"\0")
            names = sorted(int(path.stem.split("-")[1]) for path in directory.glob(f"{entry.recording_id}-*.rec"))
            for position in names:
                old = position
                if major < 2 and entry.term_buffer_length != entry.segment_file_length:
                    old -= entry.base_position
                if major < 1:
                    old = (position - (entry.start_position & -entry.segment_file_length)) // entry.segment_file_length
                (directory / f"{entry.recording_id}-{position}.rec").rename(directory / f"{entry.recording_id}-{old}.old")
        for path in directory.glob("*.old"):
            path.rename(path.with_suffix(".rec"))
    (directory / "archive.catalog").write_bytes(data + bytes(SLOT))
    with (directory / "archive-mark.dat").open("r+b") as file:
        file.seek(8)
        file.write(version.to_bytes(4, "little"))


def simple(golden_archives: Path, target: Path, name: str) -> Path:
    """Copy a golden directory, without files that lie before the start of their recording: older names could not tell them apart."""
    directory = shutil.copytree(golden_archives / name / "archive-dir", target)
    with OfflineCatalog(FileSystem(), directory) as catalog:
        for entry in catalog.entries:
            for path in directory.glob(f"{entry.recording_id}-*.rec"):
                if int(path.stem.split("-")[1]) < entry.base_position:
                    path.unlink()
    return directory
