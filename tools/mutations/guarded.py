"""The code that decides who somebody is, what they may read and what was paid, and its tests.

`make coverage` and `make mutate` measure exactly these files with exactly these tests.
"""

from pathlib import Path

from tools.files import ROOT

FILES = (
    "src/imprint/auth/**",
    "src/imprint/domain/access.py",
    "src/imprint/domain/formats/coins.py",
    "src/imprint/domain/posts/market_ledger.py",
    "src/imprint/domain/sessions.py",
    "src/imprint/interface/payments.py",
    "src/imprint/services/access/*.py",
    "src/imprint/services/accounts/contract_wallets.py",
    "src/imprint/services/accounts/login.py",
    "src/imprint/services/accounts/writing_sessions.py",
    "src/imprint/web/api/paywall.py",
)
"""Globs of the files of access, authentication and payment."""

TESTS = (
    "tests/auth",
    "tests/domain/test_access.py",
    "tests/domain/formats/test_coins.py",
    "tests/domain/posts/test_market_ledger.py",
    "tests/services/access",
    "tests/services/accounts",
    "tests/web/api/test_paywall.py",
    "tests/web/api/test_paywall_hostile.py",
)
"""The tests that must find a fault in these files."""

MEASURED = ROOT / ".tools" / "coverage"
"""The folder with the last measurement of coverage."""


def module_of(path: Path) -> str:
    """Return the name of the module in this file."""
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
