"""Name resolution: the driver's own resolver, tables of names, and the measurement of look-ups."""
