"""Authenticators and authorisation services: who may connect to an archive or a cluster, and ask for what. Aeron: io.aeron.security."""
