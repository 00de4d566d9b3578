"""What a service says about itself in its first line: where everything is, and no secret."""

from imprint import __version__
from imprint.bootstrap.adapters import describe_database
from imprint.bootstrap.archives import describe_store
from imprint.domain.formats.addresses import checksum_address
from imprint.settings import Settings


def describe_start(settings: Settings) -> dict[str, object]:
    """The fields of the line that `imprint serve` logs first."""
    server, storage, chain = settings.server, settings.storage, settings.chain
    host = f"[{server.host}]" if ":" in server.host else server.host
    return {
        "version": __version__,
        "address": f"{host}:{server.port}",
        "data": str(storage.data_dir.absolute()),
        "database": describe_database(storage.database),
        "store": describe_store(settings),
        "chain": chain.id,
        "marketplace": checksum_address(chain.marketplace),
        "workers": server.workers,
    }
