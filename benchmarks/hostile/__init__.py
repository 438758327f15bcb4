"""A campaign against the package: whatever a user, a disk, a signal or an attacker may do to it.

Each module here is one campaign. It says what is thrown and what counts as a defect, has a number `TRIALS` of
a long run and `SHORT` of the one in the tests, a number `LIMIT` of seconds that no trial may exceed, and:

    trial(seed) -> {"verdict": a word, "defect": None or a sentence, ...}

Equal seeds give equal trials. ``python -m benchmarks.hostile NAME`` runs the long one, goes on where it was
stopped, and writes what came out; the tests run a few trials of each.
"""
