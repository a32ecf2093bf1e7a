"""Bytes of other objects: who lends a buffer to be sent, or to be received into, must mean its bytes."""

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer


cdef int borrow_bytes(object source, Py_buffer* view) except -1:
    try:
        PyObject_GetBuffer(source, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except (BufferError, ValueError):
        # NumPy has no format for some types, dates among them, but lends their bytes.
        if getattr(getattr(source, "dtype", None), "hasobject", False):
            raise
        PyObject_GetBuffer(source, view, PyBUF_SIMPLE)
    try:
        refuse_objects(view)
    except:
        PyBuffer_Release(view)
        raise
    return 0


cdef int refuse_objects(const Py_buffer* view) except -1:
    cdef const char* code = view.format
    cdef bint is_name = False       # names of fields stand between colons
    if code is NULL:
        return 0
    while code[0] != 0:
        if code[0] == b':':
            is_name = not is_name
        elif code[0] == b'O' and not is_name:
            raise TypeError(f"messages are bytes: an array of Python objects, {(<bytes>view.format).decode()!r}, has only their addresses")
        code += 1
    return 0
