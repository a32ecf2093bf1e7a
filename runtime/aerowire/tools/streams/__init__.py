"""Commands that send, receive and show streams of messages; files on a stream and measurements have rooms of their own."""
