"""The engine that works in this process, on the ordered codes of all rows."""
