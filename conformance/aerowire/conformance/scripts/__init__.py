"""Cases as text: timed conversations with a driver, without Python."""
