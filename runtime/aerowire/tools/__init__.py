"""The `aerowire` command and its subcommands."""
