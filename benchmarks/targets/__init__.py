"""What can be measured: each module has ``CASES(options) -> list[Comparison]`` and says in its first line what it is
about."""
