# What recordings and replays of an archive have in common.

from libc.stdint cimport int32_t

from aerowire.archive.files.checksum cimport Checksum
from aerowire.base.file_port cimport FilePort


cdef class TransferSettings:
    """TransferSettings(files, directory, *, file_io_max_length, checksum=None). Never changes."""

    cdef readonly FilePort files
    cdef readonly str directory
    cdef readonly Checksum checksum             # None: none
    cdef int32_t checksum_kind                  # of it, CHECKSUM_NONE without
    cdef readonly int32_t file_io_max_length    # of one write or read
