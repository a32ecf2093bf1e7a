"""Adapters: how to start and stop each kind of driver that the suite can test."""
