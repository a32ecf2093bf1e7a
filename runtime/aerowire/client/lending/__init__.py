"""Images, publications and counters on loan to native agents, which read, append and count without the interpreter lock."""
