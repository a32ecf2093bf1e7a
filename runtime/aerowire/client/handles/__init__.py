"""The parts that all handles of a client share: their state, counters, and buffers of callers; no stream."""
