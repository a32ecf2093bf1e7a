# The callback that readers of rings and broadcasts call for each message.

from libc.stdint cimport int32_t, uint8_t

ctypedef void (*MessageHandler)(void* context, int32_t message_type, const uint8_t* body, int32_t length) noexcept nogil
