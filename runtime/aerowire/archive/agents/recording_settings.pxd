# What all recordings of an archive share.

cimport cython
from libc.stdint cimport int32_t

from aerowire.archive.agents.transfer_settings cimport TransferSettings
from aerowire.archive.files.checksum cimport Checksum
from aerowire.base.file_port cimport FilePort


@cython.final
cdef class RecordingSettings(TransferSettings):
    """RecordingSettings(files, directory, *, file_io_max_length, sync_level=0, checksum=None, is_preallocated=False). Never changes."""

    cdef readonly int32_t sync_level            # 0: none; 1: content; 2: attributes too
    cdef readonly bint is_preallocated          # a segment takes its full length on the disk from the start
