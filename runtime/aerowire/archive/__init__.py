"""The Archive: records streams to disk, replays and replicates them."""
