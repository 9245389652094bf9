"""How work reaches Spark: tasks and files, the session, and the Java behind it."""
