"""Finding the laws of a table."""
