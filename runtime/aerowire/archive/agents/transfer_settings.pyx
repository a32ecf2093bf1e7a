"""What recordings and replays of an archive have in common."""

from libc.stdint cimport int32_t

import os

from aerowire.archive.files.checksum cimport CHECKSUM_NONE
from aerowire.codecs.native.archive_files cimport SEGMENT_LENGTH_MIN


cdef class TransferSettings:
    """Where segments are; `file_io_max_length` is the most that is written or read at once, at least the shortest term."""

    def __init__(self, FilePort files not None, directory, *, int32_t file_io_max_length, Checksum checksum=None):
        if file_io_max_length < SEGMENT_LENGTH_MIN:
            raise ValueError(f"file_io_max_length: expected at least {SEGMENT_LENGTH_MIN}, actual {file_io_max_length}")
        self.files = files
        self.directory = os.fsdecode(directory)
        self.file_io_max_length = file_io_max_length
        self.checksum = checksum
        self.checksum_kind = CHECKSUM_NONE if checksum is None else checksum.kind
