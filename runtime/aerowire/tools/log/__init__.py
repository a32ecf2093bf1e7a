"""The `aerowire log` command: log buffers read frame by frame from their files, which are never mapped or written."""
