"""Structures that processes share: rings, broadcasts, counters, error logs, loss reports and the cnc file around them."""
