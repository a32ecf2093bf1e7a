"""The commands on an Archive that runs: each is a client of it, which finds it by its directory or its control channel."""
