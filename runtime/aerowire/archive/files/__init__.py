"""The files of an Archive's directory: catalog, segments, mark file, checksums, recovery and migration, through the files port.

Nothing here knows of streams, sessions or agents. What the files look like is in `aerowire.recordings`.
"""
