"""The world in one thread: virtual time, a network with faults and memory without files, for real drivers and clients to run in.

Everything follows from one seed; the same seed gives the same trace hash.
"""
