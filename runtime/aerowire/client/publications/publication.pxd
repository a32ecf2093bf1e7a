# The two kinds of publications.

from aerowire.client.publications.publication_base cimport PublicationBase
from aerowire.logbuffer.concurrent_appender cimport ConcurrentAppender
from aerowire.logbuffer.exclusive_appender cimport ExclusiveAppender


cdef class Publication(PublicationBase):
    cdef ConcurrentAppender _appender


cdef class ExclusivePublication(PublicationBase):
    cdef ExclusiveAppender _appender
    cdef bint _revokes_on_close

    cdef ExclusiveAppender exclusive_appender(self)
