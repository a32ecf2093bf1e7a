"""Subscriptions and images: polls, blocks, iteration, assembly of fragments.  Sending is in `publications`."""
