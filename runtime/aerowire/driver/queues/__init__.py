"""The queue of events from the native agents to the conductor, and the system counters."""
