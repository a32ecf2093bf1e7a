"""One module for each message."""
