"""The images of one channel and stream, polled in turn. Aeron: Subscription."""

cimport cython
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport INT64_MAX, int32_t, int64_t

from aerowire.base.whole_numbers cimport int32_of
from aerowire.client.subscriptions.batch cimport BatchPool, FragmentBatch
from aerowire.client.subscriptions.block cimport Block, lend, poll_frames
from aerowire.client.subscriptions.controlled_poll cimport poll_controlled
from aerowire.client.subscriptions.image cimport Image
from aerowire.client.subscriptions.fixed_length_rows cimport FixedLengthRows, poll_rows
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.codecs.native.cnc cimport CHANNEL_STATUS_NO_ID_ALLOCATED

from aerowire.base.arguments import duration_ns
from aerowire.client.handles.html import subscription_html
from aerowire.client.subscriptions.iteration import MessageReader


cdef inline Image take_turn(tuple images, Py_ssize_t* index):
    # the image whose turn it is, None where it is closed; the index moves to the next one
    cdef Image image = <Image>PyTuple_GET_ITEM(images, index[0])
    index[0] = 0 if index[0] + 1 == PyTuple_GET_SIZE(images) else index[0] + 1
    return image if image.handle_state == STATE_OPEN else None


@cython.final
cdef class Subscription(StreamHandle):
    """Receives a stream: one image for each publication of it, which come and go. From `Aeron.add_subscription`.

    Each poll begins with another image, so that none starves. Belongs to one thread at a time; the conductor changes the images, which are
    replaced as a whole.
    """

    def __init__(self, conductor, *, str channel not None, int32_t stream_id, int64_t registration_id, available_image_handler=None,
                 unavailable_image_handler=None):
        self.conductor = conductor
        self._images = ()
        self._batches = BatchPool()
        self.channel = channel
        self.stream_id = stream_id
        self.registration_id = registration_id
        self.available_image_handler = available_image_handler
        self.unavailable_image_handler = unavailable_image_handler
        self.channel_status_id = CHANNEL_STATUS_NO_ID_ALLOCATED

    def __iter__(self):
        """Loop over whole messages as bytes, waiting for each, until the subscription is closed: `for message in subscription`."""
        return self.messages()

    def messages(self, *, timeout_ns=None):
        """Return an iterator over whole messages as bytes; it waits for each, and ends when none has come for `timeout_ns` (a number, or
        a text such as "500ms"; None: never).

        It ends when the subscription is closed, and raises what ends the client. A message counts as read when the loop gets it. In a
        simulated world it raises BlockingCallError unless `timeout_ns` is 0.
        """
        return self.reader(timeout_ns, "messages").messages(self, timeout_ns)

    def views(self, *, timeout_ns=None):
        """As `messages`, without copying: each message is a read-only memoryview that is valid until the next one is asked for.

        Until the loop is done with a block of the log, its publisher cannot write there again, and other polls of the subscription raise.
        """
        return self.reader(timeout_ns, "views").views(self, timeout_ns)

    def _repr_html_(self):
        """Render as a table, for notebooks."""
        return subscription_html(self)

    def __repr__(self):
        return (f"Subscription(channel={self.channel!r}, stream_id={self.stream_id}, registration_id={self.registration_id}, "
                f"image_count={self.image_count}, is_closed={self.is_closed})")

    @cython.embedsignature(True)
    @cython.embedsignature.format("clinic")
    @cython.binding(False)      # called as a plain C function: some 15 ns less a call
    def poll(self, handler, fragment_limit=10):
        """Call `handler(buffer, offset, length, header)` for the message fragments that are there, at most `fragment_limit`; never waits.

        Returns how many were delivered. See Image for the handler's arguments; pass a FragmentAssembler to get whole messages. Raises what
        the handler raises, ClosedError when closed, and the error that ended the client.
        """
        cdef tuple images
        cdef Py_ssize_t count, index, i
        cdef Image image
        cdef int fragments = 0
        cdef int limit = int32_of("fragment_limit", fragment_limit)
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        images = self._images
        count = PyTuple_GET_SIZE(images)
        if count == 1:
            image = <Image>PyTuple_GET_ITEM(images, 0)
            if image.handle_state != STATE_OPEN:
                return 0
            if image.subscriber_error_handler is None:
                return image.poll_fragments(handler, limit, INT64_MAX)
            return image.poll_reporting(handler, limit, INT64_MAX)
        index = self.start_index(count)
        for i in range(count):
            if fragments >= limit:
                break
            image = take_turn(images, &index)
            if image is not None:
                fragments += image.poll_reporting(handler, limit - fragments, INT64_MAX)
        return fragments

    def controlled_poll(self, handler, fragment_limit=10):
        """As `poll`, where each call of `handler` returns the Action to go on with: see Image.controlled_poll.

        ABORT and BREAK end the poll of one image; the next image is polled all the same, as with the official client.
        """
        cdef tuple images
        cdef Py_ssize_t count, index, i
        cdef Image image
        cdef int fragments = 0
        cdef int limit = int32_of("fragment_limit", fragment_limit)
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        images = self._images
        count = PyTuple_GET_SIZE(images)
        index = self.start_index(count)
        for i in range(count):
            if fragments >= limit:
                break
            image = take_turn(images, &index)
            if image is not None:
                fragments += poll_controlled(image, handler, limit - fragments, INT64_MAX)
        return fragments

    def block_poll(self, handler, length_limit):
        """Call Image.block_poll of every image; returns the bytes that were handed over, at most `length_limit` from each."""
        return self.poll_all_frames(handler, int32_of("length_limit", length_limit), False)

    def raw_poll(self, handler, length_limit):
        """Call Image.raw_poll of every image; returns the bytes that were handed over, at most `length_limit` from each."""
        return self.poll_all_frames(handler, int32_of("length_limit", length_limit), True)

    def poll_many(self, fragment_limit):
        """Copy up to `fragment_limit` fragments out and count them as read; return a FragmentBatch, empty when nothing is there."""
        cdef FragmentBatch batch = self._batches.take()
        cdef tuple images
        cdef Py_ssize_t count, index, i
        cdef Image image
        cdef int fragments = 0
        cdef int limit = int32_of("fragment_limit", fragment_limit)
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        images = self._images
        count = PyTuple_GET_SIZE(images)
        index = self.start_index(count)
        for i in range(count):
            if fragments >= limit:
                break
            image = take_turn(images, &index)
            if image is not None:
                fragments += image.poll_batch(batch, limit - fragments)
        return batch

    def poll_block(self, length_limit):
        """Lend the frames that lie next in one image's log, without copying: see Image.poll_block. An empty (false) Block when none has any."""
        cdef tuple images
        cdef Py_ssize_t count, index, i
        cdef Image image
        cdef Block block
        cdef int limit = int32_of("length_limit", length_limit)
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        images = self._images
        count = PyTuple_GET_SIZE(images)
        index = self.start_index(count)
        for i in range(count):
            image = take_turn(images, &index)
            if image is not None:
                block = lend(image, limit)
                if block.length > 0:
                    return block
        return Block.__new__(Block)

    def poll_into(self, array):
        """Copy payloads into the items of `array` (NumPy, or any writable C-contiguous buffer) and count them as read; return how many.

        An item is what the first axis counts; payloads must be as long as one. A payload of another length ends the call before it, and raises
        ValueError when it is the first. Never waits.
        """
        cdef tuple images
        cdef Py_ssize_t count, index, i
        cdef Image image
        cdef FixedLengthRows rows
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        rows = FixedLengthRows(array)
        images = self._images
        count = PyTuple_GET_SIZE(images)
        index = self.start_index(count)
        for i in range(count):
            image = take_turn(images, &index)
            if image is not None and not poll_rows(image, rows):
                break
        return rows.filled

    @property
    def images(self):
        """The images as a tuple, in the order in which they came."""
        return self._images

    @property
    def image_count(self):
        """How many images there are."""
        return len(self._images)

    @property
    def has_no_images(self):
        """Whether there is no image."""
        return not self._images

    @property
    def is_connected(self):
        """Whether there is an open image."""
        cdef Image image
        if self.handle_state == STATE_OPEN:
            for image in self._images:
                if image.handle_state == STATE_OPEN:
                    return True
        return False

    def image_by_session_id(self, session_id):
        """Return the image of a session, or None."""
        cdef int32_t wanted = int32_of("session id", session_id)
        cdef Image image
        for image in self._images:
            if image.session_id == wanted:
                return image
        return None

    def image_at_index(self, index):
        """Return the image at `index` of `images`."""
        return self._images[index]

    @property
    def resolved_endpoint(self):
        """The `address:port` that the endpoint is bound to, where the channel left the port to the system; None while not bound."""
        addresses = self.local_socket_addresses
        return addresses[0] if addresses else None

    def try_resolve_channel_endpoint_port(self):
        """Return the channel with the port that the system chose in place of port 0; None while it is not bound.

        A channel that does not leave the port open comes back as it is. Aeron: Subscription.tryResolveChannelEndpointPort.
        """
        return self.conductor.resolve_endpoint_port(self)

    def close(self):
        """Leave the stream: its images end, and the unavailable-image handler is called for each. A second call does nothing."""
        self.conductor.close_subscription(self)

    def _set_channel_status_id(self, int32_t counter_id):
        self.channel_status_id = counter_id

    def _add_image(self, Image image not None):
        self._images = (*self._images, image)

    def _remove_image(self, int64_t correlation_id):
        """Conductor: take the image out of the list and return it; None when it is not there."""
        for image in self._images:
            if image.correlation_id == correlation_id:
                self._images = tuple(other for other in self._images if other is not image)
                return image
        return None

    def _remove_images(self):
        """Conductor: take all images out of the list and return them."""
        images, self._images = self._images, ()
        return images

    def _on_image_failed(self, Image image not None):
        """Image: a frame of its log cannot be stepped over; the conductor tells the application and the driver."""
        self.conductor.on_image_failed(self, image)

    def _reject_image(self, int64_t correlation_id, int64_t position, str reason not None):
        """Image: start to have the driver reject one of the images."""
        return self.conductor.requests.start_rejection(correlation_id, position, reason)

    def _wait_for_rejection(self, int64_t correlation_id, int64_t position, str reason not None):
        """Image: have the driver reject one of the images, and wait for it."""
        self.conductor.require_waiting("Image.reject", "Image.async_reject")
        self.conductor.wait(self._reject_image(correlation_id, position, reason))

    cdef object reader(self, object timeout, str call):
        if self.conductor.waiting.is_refused and (timeout is None or duration_ns("timeout_ns", timeout) > 0):
            self.require_waiting(call, "poll, or messages(timeout_ns=0)")
        if self._reader is None:
            self._reader = MessageReader()
        return self._reader

    cdef int64_t poll_all_frames(self, object handler, int32_t length_limit, bint is_raw) except -1:
        cdef Image image
        cdef int64_t length = 0
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        for image in self._images:
            if image.handle_state == STATE_OPEN:
                length += poll_frames(image, handler, length_limit, is_raw)
        return length

    cdef Py_ssize_t start_index(self, Py_ssize_t count) noexcept:
        cdef Py_ssize_t index = self._next_index
        if index >= count:
            index = 0
        self._next_index = index + 1
        return index
