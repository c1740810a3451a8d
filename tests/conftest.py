"""Settings for all tests: one thread per library, because the tests' networks are tiny and threads would only wait."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
