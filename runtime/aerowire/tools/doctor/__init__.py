"""The `aerowire doctor` command: facts about the machine and its driver directories, and their judgement; nothing is changed here."""
