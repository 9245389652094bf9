"""The violation engine: :class:`~rowlaw.engine.engine.Engine`."""
