"""Messages between a consensus module and its node's services, on the control channel."""
