"""What processes of aerowire share, whatever they do, and native modules with them. Imports the standard library only."""
