"""Deliberate faults in the code, and a runner that checks that the suites find each one."""
