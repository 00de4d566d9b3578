"""A development chain with contract wallets, and the adapter that verifies them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from eth_account.signers.local import LocalAccount
from tests.adapters.chain.chain_node import ChainNode, run_chain_node
from tests.adapters.chain.conftest import fixed_clock
from tests.contract_wallets import creation, deploy_on, new_owner, sign_digest

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.contract_wallets import JsonRpcContractWallets
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.devchain.chain import Chain
from imprint.domain.formats.addresses import Address, keccak256, parse_address

DIGEST = keccak256(b"what is signed")


@dataclass
class WalletChain:
    """A chain with a wallet factory, and the adapter that verifies its wallets."""

    chain: Chain
    node: ChainNode
    wallets: JsonRpcContractWallets
    factory: Address
    owner: LocalAccount

    def deploy(self, contract: str, *values: object) -> Address:
        return deploy_on(self.chain, creation(contract, *values))

    def owned_code(self) -> bytes:
        """Return the code that creates a wallet for the owner."""
        return creation("OwnedWallet", self.owner.address)

    def sign(self, digest: bytes = DIGEST) -> bytes:
        return sign_digest(self.owner, digest)

    async def accepts(self, wallet: str, signature: bytes, digest: bytes = DIGEST) -> bool:
        return await self.wallets.accepts(parse_address(wallet), digest, signature)


@asynccontextmanager
async def open_wallet_chain() -> AsyncIterator[WalletChain]:
    """Run a separate chain until the context exits."""
    chain = Chain.open(None, lambda: 1_760_000_000)
    factory = deploy_on(chain, creation("WalletFactory"))
    async with run_chain_node(chain) as node:
        rpc = JsonRpc([node.address])
        # Much longer than any call takes: no test depends on the speed of the machine.
        wallets = JsonRpcContractWallets(BlockCalls(rpc, 31337, fixed_clock), timeout=60)
        yield WalletChain(chain, node, wallets, factory, new_owner())
        await rpc.close()
    chain.close()
