"""Rules within groups of settings."""

from tests.settings.environments import problems_of, read

from imprint.domain.rate_limits import Rate


def test_rates_are_enforced_only_if_rate_limits_are_on():
    assert read().limits.enforced(Rate(1, 2)) == Rate(1, 2)
    assert read(RATE_LIMITS="off").limits.enforced(Rate(1, 2)) is None


def test_a_quorum_cannot_exceed_the_number_of_nodes():
    two = "https://one.example,https://two.example"
    assert read(CHAIN_RPC_URL=two, CHAIN_QUORUM="2").chain.quorum == 2
    assert problems_of(CHAIN_RPC_URL=two, CHAIN_QUORUM="3") == [
        "IMPRINT_CHAIN_QUORUM is higher than the number of nodes in IMPRINT_CHAIN_RPC_URL."
    ]
