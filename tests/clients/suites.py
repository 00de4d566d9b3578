"""The suites of JavaScript clients, by the service that each needs."""

from pathlib import Path

HERE = Path(__file__).parent

INDEX_SUITES = ["index.test.mjs", "interface.test.mjs"]
"""With an index of posts."""

SCENARIO_SUITE = "scenario.test.mjs"
"""With an index of posts, and empty."""

SESSION_SUITE = "sessions.test.mjs"
"""Of several processes."""

COMPATIBILITY_SUITE = "compatibility.test.mjs"
"""Compatible with the earlier front end."""

APART = {*INDEX_SUITES, SCENARIO_SUITE, SESSION_SUITE, COMPATIBILITY_SUITE}

SUITES = sorted({path.name for path in HERE.glob("*.test.mjs")} - APART)
"""The others, for which any service will do."""
