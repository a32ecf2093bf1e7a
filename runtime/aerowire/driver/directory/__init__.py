"""The driver's directory and the locks that guard it."""
