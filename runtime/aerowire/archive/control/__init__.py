"""The server's side of control sessions: requests from clients, the states of a session, responses, authentication and authorisation."""
