"""Text, tables and live reports on a terminal, and the keys pressed there; what is shown is unknown here."""
