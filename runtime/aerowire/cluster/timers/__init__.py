"""Timers of a cluster, which services schedule and the leader lets expire: a wheel, or a priority heap.

`timer_service.TimerService` is what a consensus module holds; `suppliers` makes the one that an option names. A service is given the time
and calls a handler; it reads no clock and appends nothing to the log itself.
"""
