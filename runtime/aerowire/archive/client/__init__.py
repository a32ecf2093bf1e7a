"""What an application uses of an Archive: the control session, its operations, replays and their merge. Knows nothing of the server."""
