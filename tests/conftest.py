"""Settings for all tests."""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("ROWLAW_CDS", "use")  # tests are quicker with a class archive, and never make one in the background

# No deadline: a test never depends on the time it takes. In CI the same examples are tried every time.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
