"""The services of a node as its consensus module speaks with them, by the control channel."""
