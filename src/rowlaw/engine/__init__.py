"""The violation engine: one protocol, two engines."""
