"""How work reaches Spark: the session, and the Java behind it."""
