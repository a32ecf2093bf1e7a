"""The driver's events: the selection of those that are noted, and the modules that write them."""
