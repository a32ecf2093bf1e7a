"""Captured packets as UDP datagrams: link layers, IP, fragments, flows; nothing of files and nothing of Aeron."""
