"""Numba kernels: arrays in, arrays out. They know nothing of Spark, rules or tables.

Compiled code is kept in the user's cache folder, so the folder is chosen before Numba is loaded.
"""

from rowlaw.cache import numba_cache

numba_cache()
