"""The client's conductor: commands to the driver, the events that answer them, mapped logs, and the end of a client; no messages."""
