"""The `aerowire file` commands: files sent as messages of a stream, received and stored; other messages belong to `streams`."""
