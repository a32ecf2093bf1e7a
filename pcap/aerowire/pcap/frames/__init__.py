"""Datagrams as Aeron frames: accept rules, proof of flows, terms, retransmissions, columns made of headers; nothing of files."""
