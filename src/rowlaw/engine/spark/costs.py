"""What work on Spark costs, in seconds on two cores: the plans are chosen and explained by these.

Sources: single steps on 5 million rows of Tax in Parquet in a warm local session, and ``make bench T=spark``.
"""

from __future__ import annotations

JOB = 0.1  # to start a job and collect a few rows
PYTHON_JOB = 0.3  # the same with tasks in Python: workers wait for rows, load kernels, encode
SCAN_ROW = 1.0e-7  # to read a row of a few columns and filter it
GROUP_ROW = 3.0e-7  # to fold rows into groups that are few: 5 million rows in 1.4 to 2 s
SHUFFLE_ROW = 1.2e-6  # to group rows whose combinations are nearly all different: 5 million rows in 6 s
SEND_ROW = 1.1e-6  # to partition a row and hand it to Python: 5 million rows of three columns in 5.6 s
COUNT_ROW = 2.0e-7  # to encode a row in a Python task and count its violations
FOLDED_ROW = 5.0e-6  # to count the violations of a distinct row with a weight: some hundred visits
LIST_PAIR = 2.0e-7  # to list a violation in a Python task and hand it to Spark
LOOK_ROW = 1.7e-6  # to partition a row of fifteen columns and hand it to Python: 10 million rows in 17 s
LOOK_RULE_ROW = 1.1e-8  # to look in a row for what breaks one more rule: 3,600 rules and a million rows in 42 s
