"""Every call to the operating system, and the ports as it implements them; what only a driver or only a client decides is theirs."""
