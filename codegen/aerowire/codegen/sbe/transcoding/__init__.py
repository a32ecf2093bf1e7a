"""Files of messages to lines of JSON and back: framing, damaged messages, progress.  Knows of files; messages are the interpreter's."""
