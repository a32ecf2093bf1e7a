"""The operating system: ports as it implements them, and every other call to it; the rules for what they tell stand elsewhere."""
