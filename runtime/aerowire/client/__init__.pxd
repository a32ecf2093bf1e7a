# The client's native handles, in the order in which one builds on the other:
#
#   state        open, closed, ended or forked: what every handle checks first
#   claim        BufferClaim: a frame in the log, written in place
#   publication  Publication, ExclusivePublication
#   header       Header: the frame that a handler is looking at
#   assembler    FragmentAssembler: whole messages from fragments
#   batch        FragmentBatch: copies of many fragments; Block: a loan of a term's memory
#   image        Image: one publisher's stream as a subscriber reads it
#   subscription Subscription: the images of one channel and stream, polled in turn
#   keepalive    KeepaliveAgent: the client's sign of life and its watch over the driver's
