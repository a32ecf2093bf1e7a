"""The native agent of a consensus module, which appends, commits and consumes the log without the interpreter lock."""
