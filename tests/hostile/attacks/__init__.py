"""All attacks, in the order in which they are run."""

from tests.hostile.attacks import bodies, connections, reads, signers, texts, webhooks
from tests.hostile.registry import Attack

ATTACKS: tuple[Attack, ...] = (
    *connections.ATTACKS,
    *bodies.ATTACKS,
    *webhooks.ATTACKS,
    *signers.ATTACKS,
    *reads.ATTACKS,
    *texts.ATTACKS,
)
