"""Settings for tests: an environment with all required settings."""

import pytest

from imprint.settings import Settings, SettingsProblems, read_settings

MARKETPLACE = "0x5fbdb2315678afecb367f032d93f642f64180aa3"
JWT = "8c1f0a5be27d4693b1f0c8e9d2a7465f"
KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"
REQUIRED = {
    "IMPRINT_CHAIN_RPC_URL": "https://rpc.example/v2/abcdefghijk",
    "IMPRINT_CHAIN_ID": "1",
    "IMPRINT_MARKETPLACE_ADDRESS": MARKETPLACE,
    "IMPRINT_JWT_SECRET": JWT,
}
PINATA = {"PINATA_JWT": "issued-by-pinata", "PINATA_GATEWAY": "gateway.example"}


def read(**given: str) -> Settings:
    """Read the required settings plus these, named without their prefix."""
    return read_settings(REQUIRED | {f"IMPRINT_{name}": text for name, text in given.items()})


def problems_of(**given: str) -> list[str]:
    """The problems reported for the required settings plus these."""
    with pytest.raises(SettingsProblems) as raised:
        read(**given)
    return raised.value.problems
