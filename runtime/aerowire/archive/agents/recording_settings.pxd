# What all recordings of an archive share.

cimport cython
from libc.stdint cimport int32_t

from aerowire.archive.files.checksum cimport Checksum
from aerowire.base.file_port cimport FilePort


@cython.final
cdef class RecordingSettings:
    """RecordingSettings(files, directory, *, file_io_max_length, sync_level=0, checksum=None). Never changes."""

    cdef readonly FilePort files
    cdef readonly str directory
    cdef readonly Checksum checksum     # None: none
    cdef int32_t checksum_kind          # of it, CHECKSUM_NONE without
    cdef readonly int32_t file_io_max_length    # of one write
    cdef readonly int32_t sync_level            # 0: none; 1: content; 2: attributes too
