"""Arrays in, one frozen `Solution` out. Nothing here knows a kernel's name or an estimator."""
