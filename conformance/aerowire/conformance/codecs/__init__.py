"""The generated codecs, held to bytes that Aeron's own classes wrote."""
