"""Black-box conformance suite for Aeron media drivers.

The suite speaks to a driver in the only two ways a peer can: frames on UDP sockets and the shared memory
that clients map. Frames are crafted and parsed with the generated scapy layers, shared memory with the
generated flyweights; nothing here imports the runtime, so a driver of any origin can be evaluated.
"""
