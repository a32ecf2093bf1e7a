"""Channel endpoints, their transports, and the ports that capture or lose datagrams."""
