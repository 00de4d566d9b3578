"""Port for contract wallets: accounts whose signatures only their own code can verify."""

from typing import Protocol

from imprint.domain.formats.addresses import Address


class ContractWallets(Protocol):
    """The contracts currently on the chain."""

    async def accepts(self, wallet: Address, digest: bytes, signature: bytes) -> bool:
        """Whether the contract at this address accepts a signature of these 32 bytes (ERC-1271).

        A signature may name a factory that deploys the contract first (ERC-6492); the deployment is
        only simulated. False for an address without code, and for anything but the magic value. An
        unexpected response of a node raises `Unavailable`.
        """
