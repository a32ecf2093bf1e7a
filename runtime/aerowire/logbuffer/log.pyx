"""A log buffer file: three terms of equal length, then padding to the page, and the metadata in its last bytes.

    term 0 | term 1 | term 2 | (padding to a page) | metadata

Created by a driver, mapped by clients and tools.  Knows the file and its parameters; nothing of who appends or reads.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from aerowire.base.wrapping cimport wrapping_add, wrapping_subtract
from aerowire.base.errors import ClosedError, ConfigurationError, ForeignDirectoryError, TruncatedFileError
from aerowire.codecs.flyweights.logbuffer import LogMetadataDecoder, LogMetadataEncoder, LogType
from aerowire.codecs.native.logbuffer cimport (
    END_OF_STREAM_POSITION_UNSET, LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET, LOG_METADATA_ACTIVE_TRANSPORT_COUNT_OFFSET,
    LOG_METADATA_DEFAULT_HEADER_OFFSET, LOG_METADATA_END_OF_STREAM_POSITION_OFFSET, LOG_METADATA_IS_CONNECTED_OFFSET,
    LOG_METADATA_IS_PUBLICATION_REVOKED_OFFSET, LOG_META_DATA_LENGTH, PARTITION_COUNT, log_metadata_initial_term_id, log_metadata_mtu,
    log_metadata_page_size, log_metadata_term_length)
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, FRAME_TYPE_DATA, FRAME_VERSION, PAGE_SIZE_MAX, PAGE_SIZE_MIN, TERM_LENGTH_MAX,
    TERM_LENGTH_MIN, data_header_set_flags, data_header_set_session_id, data_header_set_stream_id, data_header_set_term_id,
    data_header_set_term_offset, data_header_set_type, data_header_set_version)
from aerowire.logbuffer.descriptor cimport (
    active_term_count, compute_position, index_by_term, index_by_term_count, pack_tail, position_bits_to_shift, producer_position_of,
    rotate_log, tail_address, tail_term_id, tail_term_offset)
from aerowire.memory.atomics cimport (
    load_acquire_i32, load_acquire_i64, load_acquire_u8, store_release_i32, store_release_i64, store_release_u8)

_MTU_MIN = DATA_HEADER_LENGTH    # images are made with whatever their SETUP said


def check_term_length(length, where=None) -> int:
    """Return `length` if it can be a term's; ConfigurationError otherwise."""
    if not TERM_LENGTH_MIN <= length <= TERM_LENGTH_MAX or length & (length - 1):
        raise ConfigurationError("bad term length", where=where, expected=f"a power of two from {TERM_LENGTH_MIN} to {TERM_LENGTH_MAX}", actual=length)
    return length


def check_page_size(size, where=None) -> int:
    """Return `size` if it can be a file's page size; ConfigurationError otherwise."""
    if not PAGE_SIZE_MIN <= size <= PAGE_SIZE_MAX or size & (size - 1):
        raise ConfigurationError("bad page size", where=where, expected=f"a power of two from {PAGE_SIZE_MIN} to {PAGE_SIZE_MAX}", actual=size)
    return size


def log_file_length(term_length, page_size) -> int:
    """Bytes of a log buffer file."""
    return -(-(PARTITION_COUNT * term_length + LOG_META_DATA_LENGTH) // page_size) * page_size


cdef class LogBuffers:
    """The mapped file.

    Changed by: close() (the handle), and whoever appends or rebuilds (the memory).  The parameters are fixed when it is made.
    Invariant: address and metadata are NULL exactly after close(); `hold()` taken before keeps the memory mapped.
    """

    @staticmethod
    def create(path, *, int32_t term_length, int32_t mtu_length, int32_t initial_term_id, int32_t session_id, int32_t stream_id,
               int64_t correlation_id, int32_t page_size=PAGE_SIZE_MIN, sparse=False, term_id=None, int32_t term_offset=0, regions=None,
               **metadata):
        """Create the file, initialise all of its metadata and map it.

        term_id and term_offset: where the stream begins when not at the start of the initial term.  metadata: any further field of
        LogMetadata by its name in the specification.  regions: a RegionPort, the file system without one.  Raises
        StorageSpaceError, ConfigurationError.
        """
        check_term_length(term_length, path)
        check_page_size(page_size, path)
        if mtu_length < _MTU_MIN:
            raise ConfigurationError("bad MTU", where=path, expected=f">= {_MTU_MIN}", actual=mtu_length)
        if not 0 <= term_offset <= term_length or term_offset % DATA_HEADER_LENGTH:
            raise ConfigurationError("bad first term offset", where=path, actual=term_offset,
                                     expected=f"a multiple of {DATA_HEADER_LENGTH} up to {term_length}")
        unknown = set(metadata) - _SETTABLE
        if unknown:
            raise ConfigurationError("unknown log metadata", where=path, actual=", ".join(sorted(unknown)),
                                     expected=f"fields among {', '.join(sorted(_SETTABLE))}")
        length = log_file_length(term_length, page_size)
        region = Region.create_file(path, length, sparse) if regions is None else regions.create(path, length, sparse=sparse)
        cdef LogBuffers log = LogBuffers.__new__(LogBuffers)
        log._attach(region, path, term_length)
        encoder = LogMetadataEncoder(log.metadata_view(), 0)
        for name, value in metadata.items():
            setattr(encoder, name, value)
        encoder.correlation_id = correlation_id
        encoder.initial_term_id = initial_term_id
        encoder.default_header_length = DATA_HEADER_LENGTH
        encoder.mtu = mtu_length
        encoder.term_length = term_length
        encoder.page_size = page_size
        encoder.sparse = 1 if sparse else 0
        log._write_default_header(session_id, stream_id, initial_term_id, term_offset)
        if metadata.get("type") != LogType.PUBLICATION_IMAGE:       # an image's tails stay zero: nobody appends to it
            log._write_tails(initial_term_id, initial_term_id if term_id is None else term_id, term_offset)
        log._read_parameters()
        log.bits = position_bits_to_shift(log.term_length)
        log.set_end_of_stream_position(END_OF_STREAM_POSITION_UNSET)     # LAST, with release: the rest is visible before it
        return log

    @staticmethod
    def map(path, *, writable=True, regions=None):
        """Map an existing file and check it. Raises MappedFileMissingError, TruncatedFileError or ForeignDirectoryError."""
        minimum = PARTITION_COUNT * TERM_LENGTH_MIN + LOG_META_DATA_LENGTH
        if regions is None:
            region = Region.map_file(path, writable, minimum)
        else:
            region = regions.map(path, writable=writable, minimum_length=minimum)
        cdef LogBuffers log = LogBuffers.__new__(LogBuffers)
        log._attach(region, path, 0)
        # Read once, then checked, then used: another process that maps the file may write it meanwhile.
        log._read_parameters()
        _check_file(path, log.term_length, log.page_size, log.mtu_length, len(region))
        log.bits = position_bits_to_shift(log.term_length)
        return log

    cdef int _attach(self, Region region, object path, int32_t term_length) except -1:
        self._region = region
        self._path = path
        self.address = region.address
        self.metadata = region.address + region.length - LOG_META_DATA_LENGTH
        return 0

    cdef void _read_parameters(self):
        self.term_length = log_metadata_term_length(self.metadata)
        self.mtu_length = log_metadata_mtu(self.metadata)
        self.initial_term_id = log_metadata_initial_term_id(self.metadata)
        self.page_size = log_metadata_page_size(self.metadata)

    cdef void _write_default_header(self, int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset):
        cdef uint8_t* header = self.metadata + LOG_METADATA_DEFAULT_HEADER_OFFSET
        memset(header, 0, DATA_HEADER_LENGTH)
        data_header_set_version(header, FRAME_VERSION)
        data_header_set_flags(header, DATA_FLAGS_UNFRAGMENTED)
        data_header_set_type(header, FRAME_TYPE_DATA)
        data_header_set_term_offset(header, term_offset)
        data_header_set_session_id(header, session_id)
        data_header_set_stream_id(header, stream_id)
        data_header_set_term_id(header, term_id)

    cdef void _write_tails(self, int32_t initial_term_id, int32_t term_id, int32_t term_offset):
        cdef int32_t term_count = wrapping_subtract(term_id, initial_term_id)
        cdef int index = index_by_term(initial_term_id, term_id)
        cdef int step
        store_release_i64(tail_address(self.metadata, index), pack_tail(term_id, term_offset))
        for step in range(1, PARTITION_COUNT):
            index = (index + 1) % PARTITION_COUNT
            store_release_i64(tail_address(self.metadata, index), pack_tail(wrapping_add(term_id, step - <int32_t>PARTITION_COUNT), 0))
        store_release_i32(self.metadata + LOG_METADATA_ACTIVE_TERM_COUNT_OFFSET, term_count)

    cdef uint8_t* term_address(self, int index) noexcept nogil:
        return self.address + <int64_t>index * self.term_length

    cdef object hold(self):
        return None if self._region is None else self._region.hold()

    cdef bint is_connected(self) noexcept nogil:
        return load_acquire_i32(self.metadata + LOG_METADATA_IS_CONNECTED_OFFSET) == 1

    cdef void set_connected(self, bint connected) noexcept nogil:
        store_release_i32(self.metadata + LOG_METADATA_IS_CONNECTED_OFFSET, 1 if connected else 0)

    cdef int32_t active_transport_count(self) noexcept nogil:
        return load_acquire_i32(self.metadata + LOG_METADATA_ACTIVE_TRANSPORT_COUNT_OFFSET)

    cdef void set_active_transport_count(self, int32_t count) noexcept nogil:
        store_release_i32(self.metadata + LOG_METADATA_ACTIVE_TRANSPORT_COUNT_OFFSET, count)

    cdef int64_t end_of_stream_position(self) noexcept nogil:
        return load_acquire_i64(self.metadata + LOG_METADATA_END_OF_STREAM_POSITION_OFFSET)

    cdef void set_end_of_stream_position(self, int64_t position) noexcept nogil:
        store_release_i64(self.metadata + LOG_METADATA_END_OF_STREAM_POSITION_OFFSET, position)

    cdef bint is_revoked(self) noexcept nogil:
        return load_acquire_u8(self.metadata + LOG_METADATA_IS_PUBLICATION_REVOKED_OFFSET) == 1

    cdef void set_revoked(self) noexcept nogil:
        store_release_u8(self.metadata + LOG_METADATA_IS_PUBLICATION_REVOKED_OFFSET, 1)

    cdef int64_t producer_position(self) noexcept nogil:
        return producer_position_of(self.metadata, self.term_length, self.bits, self.initial_term_id)

    cdef int64_t raw_tail(self, int index) noexcept nogil:
        return load_acquire_i64(tail_address(self.metadata, index))

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    def term_view(self, int index) -> memoryview:
        """Memory of a term, writable if the file was mapped so; keeps it mapped."""
        if not 0 <= index < PARTITION_COUNT:
            raise IndexError(f"partition {index} of {PARTITION_COUNT}")
        begin = <int64_t>index * self.term_length
        return self._view()[begin:begin + self.term_length]

    def metadata_view(self) -> memoryview:
        """Memory of the metadata."""
        view = self._view()
        return view[len(view) - LOG_META_DATA_LENGTH:]

    def metadata_fields(self) -> dict:
        """All fields of the metadata by their names in the specification."""
        return LogMetadataDecoder(self.metadata_view(), 0).to_dict()

    cdef object _view(self):
        if self._region is None:
            raise ClosedError("log buffer is closed", where=self._path)
        return memoryview(self._region)

    def rotate(self) -> bool:
        """Move to the next term as an appender does at a term's end; for tests."""
        cdef int32_t term_count = active_term_count(self.metadata)
        return rotate_log(self.metadata, term_count, wrapping_add(self.initial_term_id, term_count))

    @property
    def connected(self) -> bool:
        """Whether somebody receives the stream."""
        return self._open().is_connected()

    @connected.setter
    def connected(self, value):
        self._open().set_connected(value)

    @property
    def transport_count(self) -> int:
        """Transports that feed the image."""
        return self._open().active_transport_count()

    @transport_count.setter
    def transport_count(self, int32_t value):
        self._open().set_active_transport_count(value)

    @property
    def eos_position(self) -> int:
        """Where the stream ends; 2^63 - 1 until that is known."""
        return self._open().end_of_stream_position()

    @eos_position.setter
    def eos_position(self, int64_t value):
        self._open().set_end_of_stream_position(value)

    @property
    def revoked(self) -> bool:
        """Whether the publication was revoked."""
        return self._open().is_revoked()

    def revoke(self) -> None:
        """Mark the publication as revoked; there is no way back."""
        self._open().set_revoked()

    @property
    def tail_position(self) -> int:
        """Position of the active term's tail."""
        return self._open().producer_position()

    @property
    def term_count(self) -> int:
        """Terms completed since the first."""
        return active_term_count(self._open().metadata)

    @property
    def tails(self) -> list:
        """(term_id, term_offset) of each partition; the offset is clamped to the term."""
        self._open()
        raws = [self.raw_tail(index) for index in range(PARTITION_COUNT)]
        return [(tail_term_id(raw), tail_term_offset(raw, self.term_length)) for raw in raws]

    @property
    def length_of_term(self) -> int:
        """Bytes of a term."""
        return self.term_length

    @property
    def mtu(self) -> int:
        """Longest datagram of the stream in bytes, its frame header included."""
        return self.mtu_length

    @property
    def first_term_id(self) -> int:
        """Term that the stream began in."""
        return self.initial_term_id

    @property
    def path(self):
        """Where the file is."""
        return self._path

    @property
    def region(self):
        """The mapping; None once closed."""
        return self._region

    @property
    def closed(self) -> bool:
        """Whether this handle was closed."""
        return self._region is None

    def close(self) -> None:
        """Forget the file; it is unmapped when the last view and holder is gone. Idempotent."""
        self.address = NULL
        self.metadata = NULL
        region, self._region = self._region, None
        if region is not None:
            region.close()

    cdef LogBuffers _open(self):
        if self._region is None:
            raise ClosedError("log buffer is closed", where=self._path)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


# What create() writes itself, or what only appenders and receivers may.
_OWN = frozenset({"tail_counters", "active_term_count", "end_of_stream_position", "correlation_id", "initial_term_id",
                  "default_header_length", "mtu", "term_length", "page_size", "default_header", "sparse"})
_SETTABLE = frozenset(LogMetadataDecoder.MEMBERS) - _OWN


cdef int _check_file(object path, int32_t term_length, int32_t page_size, int32_t mtu, int64_t length) except -1:
    try:
        check_term_length(term_length)
        check_page_size(page_size)
    except ConfigurationError as error:
        raise ForeignDirectoryError("not a log buffer file", where=path, expected=error.expected, actual=error.actual) from None
    expected = log_file_length(term_length, page_size)
    if length < expected:
        raise TruncatedFileError("log buffer file is too short", where=path, expected=f"{expected} bytes", actual=f"{length} bytes")
    if length > expected:
        raise ForeignDirectoryError("log buffer file is too long", where=path, expected=f"{expected} bytes", actual=f"{length} bytes")
    if mtu < _MTU_MIN:
        raise ForeignDirectoryError("log buffer file has a bad MTU", where=path, expected=f">= {_MTU_MIN}", actual=mtu)
    return 0
