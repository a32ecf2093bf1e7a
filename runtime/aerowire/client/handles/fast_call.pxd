# A way around the parsing of arguments for calls that come in one shape nearly always: some 10 ns less a call.
#
# The method stays what it is, with its signature and its help; a call of the usual shape is answered before its arguments are parsed.

from cpython.object cimport PyObject

cdef extern from *:
    """
    #ifndef AEROWIRE_FAST_CALL
    #define AEROWIRE_FAST_CALL
    /* Puts `replacement` before a builtin method; returns what was there, or NULL when the method is not called with a vector of arguments. */
    static void *aw_precede(PyObject *type, const char *name, void *replacement)
    {
        PyObject *found = PyDict_GetItemString(((PyTypeObject *)type)->tp_dict, name);
        PyMethodDef *method;
        void *original;
        if (!found || !Py_IS_TYPE(found, &PyMethodDescr_Type)) return NULL;
        method = ((PyMethodDescrObject *)found)->d_method;
        if (method->ml_flags != (METH_FASTCALL | METH_KEYWORDS)) return NULL;
        original = (void *)method->ml_meth;
        method->ml_meth = (PyCFunction)replacement;
        return original;
    }
    #endif
    """
    void* aw_precede(object type, const char* name, void* replacement) noexcept

# As Python calls it: borrowed arguments, `count` of them by position and then those of the tuple `names`; a new reference, or NULL with an error set.
ctypedef PyObject* (*FastFunction)(PyObject* self, PyObject** arguments, Py_ssize_t count, PyObject* names) noexcept

cdef inline FastFunction precede(object type, const char* name, FastFunction replacement) noexcept:
    return <FastFunction>aw_precede(type, name, <void*>replacement)
