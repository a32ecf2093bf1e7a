"""The files of a cluster member: recording.log, the node state and the mark files, through the files port.

Nothing here knows of streams, members or elections.
"""
