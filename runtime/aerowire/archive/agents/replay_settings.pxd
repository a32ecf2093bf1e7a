# What all replays of an archive share.

cimport cython
from libc.stdint cimport int32_t

from aerowire.archive.files.checksum cimport Checksum
from aerowire.base.file_port cimport FilePort


@cython.final
cdef class ReplaySettings:
    """ReplaySettings(files, directory, *, file_io_max_length, checksum=None). Never changes."""

    cdef readonly FilePort files
    cdef readonly str directory
    cdef readonly Checksum checksum     # None: none
    cdef int32_t checksum_kind          # of it, CHECKSUM_NONE without
    cdef readonly int32_t file_io_max_length    # of one read
