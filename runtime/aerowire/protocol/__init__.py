"""Sans-I/O machines of the transport protocol: inputs, outputs and deadlines are arguments and results.

No sockets, clocks, randomness, threads or shared memory inside; the driver's agents feed them.
"""
