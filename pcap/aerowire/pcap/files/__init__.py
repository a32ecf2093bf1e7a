"""Capture files as blocks of packets: formats, compression, the walk along records, recovery, places to begin at; no look into a packet."""
