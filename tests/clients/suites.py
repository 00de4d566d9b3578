"""Test suites of the JavaScript clients, by the service they need."""

from pathlib import Path

HERE = Path(__file__).parent

INDEX_SUITES = ["index.test.mjs", "interface.test.mjs", "library.test.mjs", "x402.test.mjs"]
"""Suites that need a post index."""

SCENARIO_SUITE = "scenario.test.mjs"
"""The suite that needs an empty service with a post index."""

SESSION_SUITE = "sessions.test.mjs"
"""The suite that needs several processes."""

COMPATIBILITY_SUITE = "compatibility.test.mjs"
"""The suite that needs compatibility with the legacy front end."""

APART = {*INDEX_SUITES, SCENARIO_SUITE, SESSION_SUITE, COMPATIBILITY_SUITE}

SUITES = sorted({path.name for path in HERE.glob("*.test.mjs")} - APART)
"""All suites not named above, which run with any service."""
