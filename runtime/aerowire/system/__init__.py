"""The ports as the operating system implements them: clocks, UDP sockets, polling, files, wake-ups.  The only OS calls."""
