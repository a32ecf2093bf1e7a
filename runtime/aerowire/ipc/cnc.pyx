"""cnc.dat: the file through which a driver, its clients and the tools meet.

    header | to-driver ring | to-clients broadcast | counter metadata | counter values | error log | (padding to a page)

The version is stored LAST, with release: whoever sees it sees the whole header.  Aeron: CncFileDescriptor.
Knows the file; not who is allowed to make it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.errors import (
    ClosedError,
    ConfigurationError,
    DriverDirectoryMissingError,
    DriverNotReadyError,
    DriverShutdownError,
    DriverTimeoutError,
    ForeignDirectoryError,
    MappedFileMissingError,
    TruncatedFileError,
    VersionMismatchError,
)
from aerowire.codecs.flyweights.cnc import CncHeaderDecoder, CncHeaderEncoder
from aerowire.codecs.native.cnc cimport (
    BROADCAST_TRAILER_LENGTH, CNC_HEADER_LENGTH, CNC_HEADER_VERSION_OFFSET, CNC_NOT_READY, CNC_VERSION, CONSUMER_HEARTBEAT_CLOSED,
    COUNTER_METADATA_LENGTH, COUNTER_VALUE_LENGTH, RING_TRAILER_CONSUMER_HEARTBEAT_OFFSET, RING_TRAILER_LENGTH, cnc_header_counters_metadata_buffer_length,
    cnc_header_counters_values_buffer_length, cnc_header_error_log_buffer_length, cnc_header_to_clients_buffer_length,
    cnc_header_to_driver_buffer_length, cnc_header_version_major, cnc_header_version_minor, cnc_header_version_patch)
from aerowire.ipc.broadcast cimport BroadcastReceiver, BroadcastTransmitter
from aerowire.ipc.counters cimport CountersManager, CountersReader
from aerowire.ipc.ring_buffer cimport ManyToOneRingBuffer
from aerowire.memory.atomics cimport load_acquire_i32, load_acquire_i64, store_release_i32
from aerowire.memory.region cimport Region

# Bytes of the two message buffers without their trailers. A message has at most an eighth of them: the longest command, with a channel of
# 4,095 characters, and its answer fit. Every driver's own minimum is larger: MediaDriver.Context asks for the defaults, 1 MiB.
BUFFER_CAPACITY_MIN = 64 * 1024
METADATA_TO_VALUES = COUNTER_METADATA_LENGTH // COUNTER_VALUE_LENGTH


cdef enum Section:
    TO_DRIVER = 0
    TO_CLIENTS = 1
    COUNTERS_METADATA = 2
    COUNTERS_VALUES = 3
    ERROR_LOG = 4
    END = 5


cdef class CncFile:
    """The mapped file.  Its sections are memoryviews that keep it mapped after close().

    Changed by: publish() once, by the driver; close() (the handle).  The lengths are fixed when it is made.
    """

    @staticmethod
    def create(path, *, int32_t to_driver_length, int32_t to_clients_length, int32_t counters_metadata_length,
               int32_t counters_values_length, int32_t error_log_length, int64_t client_liveness_timeout_ns, int64_t start_timestamp_ms,
               int64_t pid, int32_t file_page_size, regions=None, sparse=False):
        """Create the file with its header filled in except for the version; call publish() when the rest is ready.

        Lengths are of whole sections in bytes, trailers included.  Raises ConfigurationError for a length that a section cannot have,
        StorageSpaceError, MappedFileExistsError.
        """
        lengths = (to_driver_length, to_clients_length, counters_metadata_length, counters_values_length, error_log_length)
        problem = _length_problem(lengths)
        if problem:
            raise ConfigurationError("bad section length for the cnc file", where=path, expected=problem[1], actual=problem[0])
        total = -(-(CNC_HEADER_LENGTH + sum(lengths)) // file_page_size) * file_page_size
        region = Region.create_file(path, total, sparse) if regions is None else regions.create(path, total, sparse=sparse)
        header = CncHeaderEncoder(region, 0)
        header.to_driver_buffer_length = to_driver_length
        header.to_clients_buffer_length = to_clients_length
        header.counters_metadata_buffer_length = counters_metadata_length
        header.counters_values_buffer_length = counters_values_length
        header.error_log_buffer_length = error_log_length
        header.client_liveness_timeout_ns = client_liveness_timeout_ns
        header.start_timestamp_ms = start_timestamp_ms
        header.pid = pid
        header.file_page_size = file_page_size
        cdef CncFile cnc = CncFile.__new__(CncFile)
        cnc._attach(region, path, lengths)
        return cnc

    @staticmethod
    def map(path, *, writable=True, regions=None):
        """Map and check an existing file.

        Raises DriverDirectoryMissingError (no file), TruncatedFileError (shorter than its header says), DriverNotReadyError (no version
        yet), VersionMismatchError (another major version), ForeignDirectoryError (lengths that no driver writes).
        """
        try:
            if regions is None:
                region = Region.map_file(path, writable, CNC_HEADER_LENGTH)
            else:
                region = regions.map(path, writable=writable, minimum_length=CNC_HEADER_LENGTH)
        except MappedFileMissingError:
            raise DriverDirectoryMissingError("no driver directory", where=path, expected="the cnc file of a driver", actual="no such file",
                                              hint="start a media driver, or give its directory (aeron.dir)") from None
        cdef CncFile cnc = CncFile.__new__(CncFile)
        _check_version(path, (<Region>region).address)
        lengths = _lengths((<Region>region).address)
        problem = _length_problem(lengths)
        if problem:
            raise ForeignDirectoryError("cnc file has a section of a length that no driver writes", where=path, expected=problem[1],
                                        actual=problem[0], hint="the directory does not belong to a media driver; use another one")
        if len(region) < CNC_HEADER_LENGTH + sum(lengths):
            raise TruncatedFileError("cnc file is shorter than its sections", where=path,
                                     expected=f">= {CNC_HEADER_LENGTH + sum(lengths)} bytes", actual=f"{len(region)} bytes",
                                     hint="the driver ran out of space, or the file was copied while it ran")
        cnc._attach(region, path, lengths)
        return cnc

    cdef int _attach(self, Region region, object path, object lengths) except -1:
        cdef int64_t offset = CNC_HEADER_LENGTH
        self._region = region
        self._path = path
        self.address = region.address
        # The lengths that were checked: the header may have changed since.
        for index, length in enumerate(lengths):
            self._offsets[<int>index] = offset
            offset += length
        self._offsets[<int>END] = offset
        return 0

    cdef object _section(self, int index):
        if self._region is None:
            raise ClosedError("cnc file is closed", where=self._path)
        return memoryview(self._region)[self._offsets[index]:self._offsets[index + 1]]

    cdef int64_t heartbeat(self) noexcept nogil:
        return load_acquire_i64(self.address + self._offsets[<int>TO_CLIENTS] - RING_TRAILER_LENGTH + RING_TRAILER_CONSUMER_HEARTBEAT_OFFSET)

    def publish(self) -> None:
        """Store the version: from now on clients may use the file. The driver's last step of start-up."""
        store_release_i32(self.address + CNC_HEADER_VERSION_OFFSET, CNC_VERSION)

    def check_driver(self, int64_t now_ms, int64_t timeout_ms) -> int:
        """Return the driver's heartbeat (epoch ms) if it is younger than timeout_ms.

        Raises DriverNotReadyError (none yet), DriverShutdownError (ended in order), DriverTimeoutError (too old).
        """
        cdef int64_t beat
        self._section(TO_DRIVER)
        beat = self.heartbeat()
        if beat == 0:
            raise DriverNotReadyError("driver has not begun its heartbeat", where=self._path, expected="a heartbeat", actual="none",
                                      hint="wait until it has started")
        if beat == CONSUMER_HEARTBEAT_CLOSED:
            raise DriverShutdownError("driver has shut down", where=self._path, expected="a running driver",
                                      actual="the mark of one that ended in order", hint="start it again")
        age_ms = <object>now_ms - <object>beat  # in Python's numbers: the beat may be any
        if age_ms > timeout_ms:
            raise DriverTimeoutError("driver heartbeat is too old", where=self._path, expected=f"at most {timeout_ms} ms",
                                     actual=f"{age_ms} ms", hint="the driver is dead or stalled; start it again")
        return beat

    @property
    def heartbeat_ms(self) -> int:
        """The driver's last heartbeat in epoch ms; 0 not begun, -1 ended in order."""
        self._section(TO_DRIVER)
        return self.heartbeat()

    @property
    def version(self) -> int:
        """Version of the file; 0 while it is being made."""
        self._section(TO_DRIVER)
        return load_acquire_i32(self.address + CNC_HEADER_VERSION_OFFSET)

    @property
    def header(self) -> dict:
        """All fields of the header by their names in the specification."""
        self._section(TO_DRIVER)
        return CncHeaderDecoder(self._region, 0).to_dict()

    @property
    def client_liveness_timeout_ns(self) -> int:
        return self.header["client_liveness_timeout_ns"]

    @property
    def start_timestamp_ms(self) -> int:
        return self.header["start_timestamp_ms"]

    @property
    def pid(self) -> int:
        return self.header["pid"]

    @property
    def file_page_size(self) -> int:
        return self.header["file_page_size"]

    @property
    def to_driver_buffer(self) -> memoryview:
        return self._section(TO_DRIVER)

    @property
    def to_clients_buffer(self) -> memoryview:
        return self._section(TO_CLIENTS)

    @property
    def counters_metadata_buffer(self) -> memoryview:
        return self._section(COUNTERS_METADATA)

    @property
    def counters_values_buffer(self) -> memoryview:
        return self._section(COUNTERS_VALUES)

    @property
    def error_log_buffer(self) -> memoryview:
        return self._section(ERROR_LOG)

    @property
    def to_driver(self) -> ManyToOneRingBuffer:
        """A command ring over its section; the file must be mapped writable."""
        return ManyToOneRingBuffer(self._section(TO_DRIVER))

    def to_clients_transmitter(self) -> BroadcastTransmitter:
        """The driver's writer."""
        return BroadcastTransmitter(self._section(TO_CLIENTS))

    def to_clients_receiver(self) -> BroadcastReceiver:
        """A client's reader, beginning at the newest message."""
        return BroadcastReceiver(self._section(TO_CLIENTS))

    def counters_reader(self) -> CountersReader:
        return CountersReader(self._section(COUNTERS_METADATA), self._section(COUNTERS_VALUES))

    def counters_manager(self, *, free_to_reuse_timeout_ms=0, epoch_ms=None) -> CountersManager:
        """The driver's allocator of counters; one per file."""
        return CountersManager(self._section(COUNTERS_METADATA), self._section(COUNTERS_VALUES),
                               free_to_reuse_timeout_ms=free_to_reuse_timeout_ms, epoch_ms=epoch_ms)

    @property
    def path(self):
        return self._path

    @property
    def region(self):
        return self._region

    @property
    def closed(self) -> bool:
        return self._region is None

    def close(self) -> None:
        """Forget the file; it is unmapped when the last view of it is gone. Idempotent."""
        self.address = NULL
        region, self._region = self._region, None
        if region is not None:
            region.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


cdef tuple _lengths(const uint8_t* header):
    return (cnc_header_to_driver_buffer_length(header), cnc_header_to_clients_buffer_length(header),
            cnc_header_counters_metadata_buffer_length(header), cnc_header_counters_values_buffer_length(header),
            cnc_header_error_log_buffer_length(header))


cdef int _check_version(object path, const uint8_t* header) except -1:
    cdef int32_t version = load_acquire_i32(header + CNC_HEADER_VERSION_OFFSET)
    if version == CNC_NOT_READY:
        raise DriverNotReadyError("driver is still creating its cnc file", where=path,
                                  hint="wait; if it never ends, a driver died while starting: delete the directory")
    if cnc_header_version_major(version) != cnc_header_version_major(CNC_VERSION):
        raise VersionMismatchError("cnc file has another major version", where=path, expected=_version_text(CNC_VERSION),
                                   actual=_version_text(version), hint="use client and driver of the same major version")
    return 0


cdef object _version_text(int32_t version):
    return f"{cnc_header_version_major(version)}.{cnc_header_version_minor(version)}.{cnc_header_version_patch(version)}"


cdef object _length_problem(tuple lengths):
    # (what is wrong, what would be right), or None
    to_driver, to_clients, metadata, values, error_log = lengths
    for name, length, trailer in (("to-driver", to_driver, RING_TRAILER_LENGTH), ("to-clients", to_clients, BROADCAST_TRAILER_LENGTH)):
        capacity = length - trailer
        if capacity < BUFFER_CAPACITY_MIN or capacity & (capacity - 1):
            return f"{name} buffer of {length} bytes", f"a power of two from {BUFFER_CAPACITY_MIN} + {trailer}"
    if values <= 0 or metadata < values * METADATA_TO_VALUES:
        return f"{metadata} bytes of counter metadata for {values} bytes of values", f"{METADATA_TO_VALUES} times the values"
    if error_log <= 0:
        return f"error log of {error_log} bytes", "a positive length"
    return None

