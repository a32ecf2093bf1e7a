"""Native streams: publications, images, and their parts.  The agents that run them are in `agents`."""
