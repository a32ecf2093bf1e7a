"""The subcommands of `codegen`, one module each with `add_parser`; what a command does is loaded when it runs."""
