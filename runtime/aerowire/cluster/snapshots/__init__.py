"""Snapshots as streams of messages: markers around the records of a consensus module or of a service, and those records.

    BEGIN marker | records of the container | END marker | the service's own state, in whatever form

A recording of an archive keeps the stream. Reading and writing go step by step, as generators that yield where there is no room or nothing
to read yet. Nothing here knows agents, elections or files.
"""
