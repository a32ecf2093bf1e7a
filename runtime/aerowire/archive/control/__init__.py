"""The server's side of control sessions: requests from clients, whether they are permitted, the states of a session, and responses."""
