"""Queues of commands and events between the conductor and the native agents, and the system counters."""
