# Bytes of other objects.

# Get a C-contiguous buffer whose bytes mean something; PyBuffer_Release gives it back. Raises BufferError, or TypeError as below.
cdef int borrow_bytes(object source, Py_buffer* view) except -1

# Raise TypeError for a buffer, got with its format, of which items are or hold Python objects: their bytes are addresses.
cdef int refuse_objects(const Py_buffer* view) except -1
