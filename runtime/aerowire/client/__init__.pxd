# The client's native handles, in the order in which one builds on the other:
#
#   state                  open, closed, ended or forked: what every handle checks first
#   stream_handle          StreamHandle: what publications and subscriptions share
#   claim                  BufferClaim: a frame in the log, written in place
#   publication            Publication, ExclusivePublication
#   header                 Header: the frame that a handler is looking at
#   assembler              FragmentAssembler, ImageFragmentAssembler: whole messages from fragments
#   controlled_assembler   the same for handlers that return an Action
#   batch                  FragmentBatch: copies of many fragments
#   image_base             ImageBase: where an image stands in its log
#   controlled_poll, block polls by Actions; loans and hand-overs of a term's memory
#   image                  Image: one publisher's stream as a subscriber reads it
#   subscription           Subscription: the images of one channel and stream, polled in turn
#   keepalive              KeepaliveAgent: the client's sign of life and its watch over the driver's
