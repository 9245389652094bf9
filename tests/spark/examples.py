"""How many examples a property is tried with where each example is a chain of Spark jobs: few. What many tables tell
apart is tried on stacks of tables, and by ``make torture``."""

from hypothesis import HealthCheck, Phase, settings


def few(examples: int) -> settings:
    """So many examples. A failing one of some seconds is not made smaller: that would take longer than a test may."""
    return settings(
        max_examples=examples,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
