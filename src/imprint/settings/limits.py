"""The settings by group: how much is taken from one client, and how long things are kept."""

from dataclasses import dataclass

from imprint.domain.images import MAX_IMAGE_BYTES
from imprint.domain.rates import Rate
from imprint.settings.readers import integer, read_rate, read_switch, seconds
from imprint.settings.setting import setting

_DAY = 86_400
_MIB = 1_048_576


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client may send and ask, and all of them together."""

    content_bytes: int = setting(
        "MAX_CONTENT_BYTES",
        "How many bytes of UTF-8 a content may have.",
        integer(1, 64 * _MIB),
        str(4 * _MIB),
    )
    image_bytes: int = setting(
        "MAX_IMAGE_BYTES",
        "How many bytes a thumbnail may have.",
        integer(1, MAX_IMAGE_BYTES),
        str(MAX_IMAGE_BYTES),
    )
    rates_on: bool = setting("RATE_LIMITS", "Whether clients are paced.", read_switch, "on")
    logins: Rate = setting(
        "RATE_LOGINS",
        "How many logins an address may make in so many seconds.",
        read_rate,
        "30/300",
    )
    writes: Rate = setting(
        "RATE_WRITES",
        "How many writes a signer may make in so many seconds.",
        read_rate,
        "60/60",
    )
    signed: Rate = setting(
        "RATE_SIGNED",
        "How many logins and writes an IP address may send in so many seconds.",
        read_rate,
        "120/60",
    )
    reads: Rate = setting(
        "RATE_READS",
        "How many reads an IP address may send in so many seconds.",
        read_rate,
        "1200/60",
    )
    body_seconds: float = setting(
        "BODY_TIMEOUT_SECONDS",
        "How long a client may take to send a body.",
        seconds(0.1, 600),
        "15",
    )
    keep_alive_seconds: int = setting(
        "KEEP_ALIVE_SECONDS",
        "How long a connection may stay idle between requests.",
        integer(1, 600),
        "5",
    )
    shutdown_seconds: int = setting(
        "SHUTDOWN_SECONDS",
        "How long running requests may take to finish when the service stops.",
        integer(0, 600),
        "20",
    )
    concurrent: int = setting(
        "MAX_CONCURRENT_REQUESTS",
        "How many requests are answered at once by a process; more are turned away with 503.",
        integer(1, 100_000),
        "512",
    )

    def paced(self, rate: Rate) -> Rate | None:
        """The rate, if clients are paced at all."""
        return rate if self.rates_on else None


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept, for how long, and what strangers see of drafts."""

    public_drafts: bool = setting(
        "PUBLIC_DRAFTS", "Whether public lists show drafts too.", read_switch, "off"
    )
    grace_hours: float = setting(
        "GRACE_HOURS",
        "How long the documents of replaced and deleted drafts are kept.",
        seconds(0, 24 * 365),
        "24",
    )
    lease_seconds: float = setting(
        "WRITE_LEASE_SECONDS",
        "How long a write may take before its document counts as abandoned.",
        seconds(1, _DAY),
        "300",
    )
    janitor_seconds: float = setting(
        "JANITOR_SECONDS",
        "How often documents that nothing holds are destroyed; 0 switches it off.",
        seconds(0, _DAY),
        "60",
    )


@dataclass(frozen=True, slots=True)
class Development:
    """What only `imprint dev` uses."""

    rpc_port: int = setting(
        "DEV_RPC_PORT",
        "The port of the chain that `imprint dev` runs.",
        integer(0, 65_535),
        "8545",
    )
