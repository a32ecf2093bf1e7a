INTERFACES: tuple[str, ...]
