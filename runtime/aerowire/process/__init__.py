"""What every command of the project needs as a process.  Imports the standard library only; every part may import it."""
