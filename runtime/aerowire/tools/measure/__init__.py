"""Commands and scripts that measure latency, throughput and rates; the measured libraries are not implemented here."""
