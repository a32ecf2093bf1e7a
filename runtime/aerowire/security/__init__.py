"""Authenticators and authorisation services of archives and clusters, which permit connections and requests. Aeron: io.aeron.security."""
