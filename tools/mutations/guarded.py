"""The code that decides who somebody is, what they may read and what was paid, and its tests.

`make coverage` and `make mutate` measure exactly this code with exactly these tests.
"""

from pathlib import Path

from tools.files import ROOT

FILES = (
    "src/imprint/adapters/chain/contract_wallets.py",
    "src/imprint/adapters/stores/ended_sessions.py",
    "src/imprint/adapters/webhooks/signatures.py",
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

FUNCTIONS = {
    "src/imprint/domain/posts/marketplace.py": (
        "decode_access_changed",
        "decode_post_info",
        "_cid_or_none",
        "_entry_of",
        "_expect_topics",
    ),
}
"""Files of which only these functions decide about access."""

TESTS = (
    "tests/adapters/chain/test_contract_wallets.py",
    "tests/adapters/chain/test_contract_wallets_nodes.py",
    "tests/adapters/stores/test_ended_sessions.py",
    "tests/adapters/webhooks/test_signatures.py",
    "tests/auth",
    "tests/domain/test_access.py",
    "tests/domain/formats/test_coins.py",
    "tests/domain/posts/test_market_ledger.py",
    "tests/domain/posts/test_marketplace.py",
    "tests/services/access",
    "tests/services/accounts",
    "tests/web/api/test_paywall.py",
    "tests/web/api/test_paywall_hostile.py",
)
"""The tests that must find a fault in these files and functions."""

MEASURED = ROOT / ".tools" / "coverage"
"""The folder with the last measurement of coverage."""


def module_of(path: Path) -> str:
    """Return the name of the module in this file."""
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
