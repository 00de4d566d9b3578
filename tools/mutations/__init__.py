"""Deliberate faults in the code, and a runner that sees whether the suites find each."""
