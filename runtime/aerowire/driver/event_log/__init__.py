"""The driver's event log: its file, the selection of events, and the modules that write them."""
