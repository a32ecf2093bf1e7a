"""The `aerowire simulate` command: seeds of scenarios, what has been run of them, and what to do with one that fails."""
