"""Logs of frames in three rotating terms: appending, scanning, rebuilding, unblocking.  Knows no channel and no socket."""
