"""The welcome of `imprint dev`: where everything is, and what to try."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from imprint.domain.addresses import checksum_address, parse_address
from imprint.settings.groups import Chain

SHOWN_ACCOUNTS = 3
"""How many development accounts are listed; a wallet shows the others."""


def print_welcome(
    url: str, rpc_url: str, chain: Chain, accounts: Sequence[str], data_dir: Path
) -> None:
    """Print where the service, its chain and its accounts are, and first steps.

    Without accounts the chain is somebody else's, and they know who has money there.
    """
    places = Table.grid(padding=(0, 2))
    places.add_row("Service", Text(url, style="bold cyan"))
    places.add_row("Interface", f"{url}/docs")
    places.add_row("For clients", f"{url}/.well-known/imprint.json")
    places.add_row("Chain", f"{rpc_url}  (id {chain.id}, JSON-RPC)")
    places.add_row("Marketplace", checksum_address(chain.marketplace))
    places.add_row("Data", str(data_dir.absolute()))
    wallets = Table.grid(padding=(0, 2))
    for index, account in enumerate(accounts[:SHOWN_ACCOUNTS]):
        wallets.add_row(f"Account {index}", checksum_address(parse_address(account)), "10 000 ETH")
    if accounts:
        note = "test test … test junk: public keys, for development only"
        wallets.add_row("", Text(note, "dim"))
    steps = Table.grid(padding=(0, 2))
    steps.add_row("Walk through all", Text("python examples/publish_a_post.py", "green"))
    steps.add_row("Newest posts", Text(f"curl {url}/filesMetaData", "green"))
    steps.add_row("Is it well?", Text(f"curl {url}/readyz", "green"))
    steps.add_row("Stop", Text("Ctrl+C; the data stays", "dim"))
    content = Group(places, "", wallets, "", steps) if accounts else Group(places, "", steps)
    Console(stderr=True).print(Panel(content, title="Imprint is running", expand=False))
