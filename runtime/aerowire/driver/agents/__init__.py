"""Native agents: sender, receiver and conductor agent, and what their duty cycles share.  The streams they run are in `streams`."""
