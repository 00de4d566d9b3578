"""What holds under `imprint dev` where nobody says otherwise."""

from collections.abc import Mapping
from types import MappingProxyType

DEVELOPMENT: Mapping[str, str] = MappingProxyType(
    {
        "IMPRINT_CHAIN_RPC_URL": "http://127.0.0.1:{IMPRINT_DEV_RPC_PORT}",
        "IMPRINT_CHAIN_ID": "31337",
        "IMPRINT_MARKETPLACE_ADDRESS": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
        "IMPRINT_CHAIN_FOLLOW_SECONDS": "1",
        "IMPRINT_LOGIN_DOMAINS": "localhost:{IMPRINT_PORT},127.0.0.1:{IMPRINT_PORT}",
        "IMPRINT_CORS_ORIGINS": "*",
        "IMPRINT_JWT_SECRET": "imprint-development-only-jwt-4f1b7c09e2",
        "IMPRINT_WEBHOOK_A_SECRET": "whsec_imprint-development-only-a-83d2f6",
        "IMPRINT_WEBHOOK_B_SECRET": "qnsec_imprint-development-only-b-5e90a7",
        "IMPRINT_RATE_LIMITS": "off",
        "IMPRINT_LOG_FORMAT": "text",
    }
)
"""The development defaults; the secrets are public, and `imprint serve` refuses them.

The marketplace is where the first development account's first transaction puts a contract.
"""
