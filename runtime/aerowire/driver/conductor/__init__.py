"""The driver's conductor: commands from clients, answers to them, proxies of the native agents, and error recording."""
