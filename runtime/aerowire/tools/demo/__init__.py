"""The `aerowire demo` command: its requirements, processes, traffic and progress display; no other command uses them."""
