"""Objects that the conductor creates and frees: clients, publications, subscriptions, images, endpoints, destinations, logs, sessions."""
