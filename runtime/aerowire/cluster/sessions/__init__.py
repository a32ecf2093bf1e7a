"""Sessions of clients with a cluster, and the short ones of backups and standbys, as a machine that takes values and returns values.

`session_manager.SessionManager` is what a consensus module's agent holds: `handle` for each message and each result of an effect, `tick`
each cycle. `effects` says what the agent has to do and which result is expected, `inputs` what it tells. Authenticators and authorisation
services are asked while a message or a cycle is handled; nothing else is called, and no clock, log or stream is known here.
"""
