"""The native agents of an Archive, which record and replay without the interpreter lock; they know neither clients nor catalog.

The archive's conductor makes sessions and hands them over; both agents tell it what becomes of them in one ring of events:

    events = AgentEvents()
    cycles = CycleCounters(longest, exceeded, threshold_ns)     # of two LentCounters, each agent its own; or None
    recorder = Recorder(events, ports.clock, TransferCounters(bytes, time, longest), cycles)    # three LentCounters, or none
    replayer = Replayer(events, ports.clock, TransferCounters(bytes, time, longest), cycles)
    to_recorder, to_replayer = RecorderProxy(recorder), ReplayerProxy(replayer)         # call `flush` in each cycle

    session = RecordingSession(LentImage(image), LentCounter(position),
                               RecordingSettings(files, directory, file_io_max_length=..., sync_level=0, checksum=None,
                                                 is_preallocated=False),
                               recording_id=..., start_position=..., term_length=..., segment_length=...)
    to_recorder.add(session)            # to_recorder.stop(session)
    session = ReplaySession(LentPublication(publication),
                            TransferSettings(files, directory, file_io_max_length=..., checksum=None),
                            recording_id=..., position=..., limit_position=..., start_position=..., stop_position=...,
                            source=None, bound=None, ...)
    to_replayer.add(session)            # to_replayer.abort(session)

    for event in events.poll():         # RecordingEnded, ReplayStarted, ReplayEnded: see events.py
        ...

An agent runs in a thread of its own (base.runner.AgentRunner), shares one with others, or works in the caller's (AgentInvoker). Sessions
are made with all the memory that they need; nothing is allocated later. A session is its agent's from `add` until its last event, which
comes for each one that was added, and after which image, counter or publication can be taken back from their loans.

A recording goes from the image's position on, into the segment that holds it; the conductor sets the counter to that position before. It
ends by itself when the stream has ended, when a disk fails or is full, and when its segment has lost its name or a part of its length.

A replay reads a recording up to `stop_position`, or up to what `source`, the session that records it now, has recorded; not beyond a
`bound`; and not frames that begin at `limit_position` or later. To replay all and follow, give a limit of 2^63 - 1; to replay all and
stop, the position that is recorded now. ReplayStarted comes when the first frames have been read and are well: the request is answered
then. The conductor revokes the publication of a replay that has not ended as COMPLETE.

Files are used through a files port. With FileSystem an agent waits for each read and write; with FileWorkers it goes on with others
meanwhile. Stop all sessions and wait for their events before the agents are stopped; close the files port last.
"""
