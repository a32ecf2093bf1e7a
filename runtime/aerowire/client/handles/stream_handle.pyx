"""What publications and subscriptions share: a channel and stream, its socket's status and addresses, its destinations.

All of it is the conductor's work; nothing here touches a log.
"""

from libc.stdint cimport int64_t


cdef class StreamHandle(Handle):
    """A registration of a channel and stream with the driver. Changed by the conductor only."""

    def __enter__(self):
        return self

    def __exit__(self, error_type, error, traceback):
        self.close()

    @property
    def channel_status(self):
        """Status of the channel's socket: 1 active, -1 errored, and so on."""
        return self.conductor.channel_status(self)

    @property
    def local_socket_addresses(self):
        """The `address:port` texts that the channel is bound to; empty while there are none."""
        return self.conductor.local_socket_addresses(self)

    def add_destination(self, str channel not None):
        """Add a destination (a source, for a subscription) to a channel of control-mode=manual, and wait for the driver.

        Returns its registration id, which `remove_destination` takes. Raises ChannelError, RegistrationError, DriverTimeoutError.
        """
        self.require_waiting("add_destination", "async_add_destination")
        return self.conductor.wait(self.async_add_destination(channel))

    def remove_destination(self, destination):
        """Remove a destination, by its channel or by its registration id (publications only), and wait for the driver. Raises RegistrationError."""
        self.require_waiting("remove_destination", "async_remove_destination")
        self.conductor.wait(self.async_remove_destination(destination))

    def async_add_destination(self, str channel not None):
        """Start to add a destination: `poll()` the result until it returns true; its `result()` is the destination's registration id."""
        self._ensure_open()
        return self.conductor.destinations.start_adding(self, channel)

    def async_remove_destination(self, destination):
        """Start to remove a destination, by channel or registration id: `poll()` the result until it returns true."""
        self._ensure_open()
        return self.conductor.destinations.start_removing(self, destination)

    def close(self):
        """Give it back to the driver. A second call does nothing."""
        raise NotImplementedError("a stream's handle is a publication or a subscription")

    @property
    def _waiting(self):
        """The port by which a call that waits sleeps."""
        return self.conductor.waiting

    def _wait_for_driver(self):
        """Have a driver and a conductor that live in this thread do their work, for a call that waits for messages or room."""
        self.conductor.work_while_waiting()

    cdef int require_waiting(self, str call, str instead) except -1:
        cdef str name = type(self).__name__
        self.conductor.require_waiting(f"{name}.{call}", f"{name}.{instead}")
        return 0
