"""Commands that run, end and watch a media driver, and the readers of its directory; streams and log buffers have rooms of their own."""
