"""The engine that works on a Spark DataFrame and never gathers it."""
