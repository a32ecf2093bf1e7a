"""What all recordings of an archive share."""

from libc.stdint cimport int32_t

import os

from aerowire.archive.files.checksum cimport CHECKSUM_NONE
from aerowire.codecs.native.archive_files cimport SEGMENT_LENGTH_MIN



cdef class RecordingSettings:
    """Where and how recordings are written.

    `file_io_max_length` is the most that is written at once, at least the shortest term. At `sync_level` 0 nothing is synced, at 1 the
    content of each block, at 2 the attributes of its file too. With a `checksum` each data frame has its own in place of the session id.
    """

    def __init__(self, FilePort files not None, directory, *, int32_t file_io_max_length, int32_t sync_level=0, Checksum checksum=None):
        if file_io_max_length < SEGMENT_LENGTH_MIN:
            raise ValueError(f"file_io_max_length: expected at least {SEGMENT_LENGTH_MIN}, actual {file_io_max_length}")
        if not 0 <= sync_level <= 2:
            raise ValueError(f"sync_level: expected 0 to 2, actual {sync_level}")
        self.files = files
        self.directory = os.fsdecode(directory)
        self.file_io_max_length = file_io_max_length
        self.sync_level = sync_level
        self.checksum = checksum
        self.checksum_kind = CHECKSUM_NONE if checksum is None else checksum.kind
