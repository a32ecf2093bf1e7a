# The native part of the asyncio client, in the order in which one builds on the other:
#
#   parking  Parking: how the watcher's thread rests, and how it is called back
#   watcher  Watcher: watches addresses in shared memory, and tells an event loop which of them changed
#   handles  what there is to watch in an image, a publication, a counter
#   message  Message: one message with what its header says; MessageCollector: makes them of fragments
