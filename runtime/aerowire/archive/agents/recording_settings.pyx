"""What all recordings of an archive share."""

from libc.stdint cimport int32_t


cdef class RecordingSettings(TransferSettings):
    """Where and how recordings are written.

    At `sync_level` 0 nothing is synced, at 1 the content of each block, at 2 the attributes of its file too. With a `checksum` each data
    frame has its own in place of the session id. The space for a whole segment is reserved where it `is_preallocated`.
    """

    def __init__(self, FilePort files not None, directory, *, int32_t file_io_max_length, int32_t sync_level=0, Checksum checksum=None,
                 bint is_preallocated=False):
        super().__init__(files, directory, file_io_max_length=file_io_max_length, checksum=checksum)
        if not 0 <= sync_level <= 2:
            raise ValueError(f"sync_level: expected 0 to 2, actual {sync_level}")
        self.sync_level = sync_level
        self.is_preallocated = is_preallocated
