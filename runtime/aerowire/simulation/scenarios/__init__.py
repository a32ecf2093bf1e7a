"""Scenarios: hosts, load and misfortunes that are drawn from a seed, and checkers that look at every step of the world they make."""
