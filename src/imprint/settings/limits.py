"""Settings for limits on what one client, and all clients together, may send and request."""

from dataclasses import dataclass

from imprint.domain.drafts.documents import MAX_IMAGE_BYTES
from imprint.domain.rate_limits import Rate
from imprint.settings.declaration import setting
from imprint.settings.parsers import integer, parse_rate, parse_switch, seconds

_MIB = 1_048_576


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client, and all clients together, may send and request."""

    content_bytes: int = setting(
        "MAX_CONTENT_BYTES",
        "The maximum size of a content, in bytes of UTF-8.",
        integer(1, 64 * _MIB),
        str(4 * _MIB),
    )
    image_bytes: int = setting(
        "MAX_IMAGE_BYTES",
        "The maximum size of a thumbnail, in bytes.",
        integer(1, MAX_IMAGE_BYTES),
        str(MAX_IMAGE_BYTES),
    )
    quota_bytes: int = setting(
        "QUOTA_BYTES",
        "How many bytes the drafts of a signer may take up, including thumbnails, and replaced or "
        "deleted documents until they are destroyed; posts do not count; 0 for no limit.",
        integer(0, 2**53),
        str(1024 * _MIB),
    )
    quota_drafts: int = setting(
        "QUOTA_DRAFTS",
        "How many drafts a signer may have at once; posts do not count; 0 for no limit.",
        integer(0, 2**53),
        "10000",
    )
    min_free_disk: int = setting(
        "MIN_FREE_DISK_BYTES",
        "How many bytes must be free on the disk of the embedded store and of SQLite; with fewer, "
        "nothing is created, updated or prepared, while reads, deletes and deliveries continue; 0 "
        "for no limit.",
        integer(0, 2**53),
        str(256 * _MIB),
    )
    rate_limits: bool = setting(
        "RATE_LIMITS",
        "Whether each client has rate limits and a share of the other limits; with `off`, only "
        "the limits for all clients together apply.",
        parse_switch,
        "on",
    )
    logins: Rate = setting(
        "RATE_LOGINS",
        "How many logins an account may make, and in how many seconds.",
        parse_rate,
        "30/300",
    )
    writes: Rate = setting(
        "RATE_WRITES",
        "How many writes a signer may make, and in how many seconds.",
        parse_rate,
        "60/60",
    )
    signed: Rate = setting(
        "RATE_SIGNED",
        "How many logins, writes and new private feeds, and how many previews, an IP address may "
        "send, and in how many seconds.",
        parse_rate,
        "120/60",
    )
    reads: Rate = setting(
        "RATE_READS",
        "How many reads an IP address may send, and in how many seconds; a page that pages "
        "through a list of 1000 posts sends 112 reads and as many preflights, and fetches 1000 "
        "thumbnails.",
        parse_rate,
        "3000/60",
    )
    wallet_checks: Rate = setting(
        "RATE_WALLET_CHECKS",
        "About how many contract-wallet signatures a node verifies for one IP address, and in "
        "how many seconds.",
        parse_rate,
        "30/60",
    )
    wallet_checks_per_address: Rate = setting(
        "RATE_WALLET_CHECKS_PER_ADDRESS",
        "About how many signatures a node verifies for one contract wallet, and in how many "
        "seconds; more than for an IP address, so that no single client can lock others out of a "
        "wallet.",
        parse_rate,
        "120/60",
    )
    signed_bytes: Rate = setting(
        "RATE_BYTES",
        "How many bytes of bodies with content or thumbnails an IP address may send, and in how "
        "many seconds.",
        parse_rate,
        f"{1024 * _MIB}/3600",
    )
    webhooks: Rate = setting(
        "RATE_WEBHOOKS",
        "How many unsigned deliveries an IP address may send, and in how many seconds; signed ones"
        " are not counted.",
        parse_rate,
        "600/60",
    )
    reports: Rate = setting(
        "RATE_REPORTS",
        "How many reports of posts an IP address may send, and in how many seconds.",
        parse_rate,
        "10/3600",
    )
    body_seconds: float = setting(
        "BODY_TIMEOUT_SECONDS",
        "How long a client may take to send a body.",
        seconds(0.1, 600),
        "15",
    )
    keep_alive_seconds: int = setting(
        "KEEP_ALIVE_SECONDS",
        "How long a connection may stay idle between requests. Set it longer than the idle "
        "timeout of a proxy in front, or the proxy sends requests on connections that are being "
        "closed.",
        integer(1, 600),
        "75",
    )
    shutdown_seconds: int = setting(
        "SHUTDOWN_SECONDS",
        "How long requests in progress may take to finish when the service stops.",
        integer(0, 600),
        "20",
    )
    concurrent: int = setting(
        "MAX_CONCURRENT_REQUESTS",
        "How many requests a process handles at once; one IP address may use a quarter of them. "
        "More are refused with 503. A request counts once its body has arrived.",
        integer(1, 100_000),
        "512",
    )
    concurrent_webhooks: int = setting(
        "MAX_CONCURRENT_WEBHOOKS",
        "How many deliveries a process receives at once; one IP address may use a quarter of "
        "them. They do not count towards `IMPRINT_MAX_CONCURRENT_REQUESTS`.",
        integer(1, 100_000),
        "128",
    )
    body_bytes: int = setting(
        "MAX_BODY_BYTES_IN_FLIGHT",
        "How many bytes of request bodies a process holds in memory at once; one IP address may "
        "use a quarter of them, but at least one body of the maximum size. More are refused with "
        "503.",
        integer(_MIB, 1024 * 1024 * _MIB),
        str(128 * _MIB),
    )
    response_bytes: int = setting(
        "MAX_RESPONSE_BYTES_IN_FLIGHT",
        "How many bytes of large responses a process holds in memory at once, with the same "
        "share for one IP address; further responses wait, and are refused with 503 after 20 "
        "seconds.",
        integer(_MIB, 1024 * 1024 * _MIB),
        str(128 * _MIB),
    )

    connections: int = setting(
        "MAX_CONNECTIONS",
        "The maximum number of open connections of a process; further ones are closed at once. "
        "The limit on open files may allow fewer.",
        integer(1, 1_000_000),
        "4096",
    )
    connections_per_address: int = setting(
        "MAX_CONNECTIONS_PER_ADDRESS",
        "The maximum number of open connections of a process from one IP address, or one IPv6 "
        "/64; further ones get 503. Trusted proxies have no such limit.",
        integer(1, 1_000_000),
        "128",
    )
    write_seconds: float = setting(
        "WRITE_TIMEOUT_SECONDS",
        "How long a client may go without reading any of a response before its connection is "
        "aborted.",
        seconds(0.1, 600),
        "15",
    )

    def enforced(self, rate: Rate) -> Rate | None:
        """Return the rate, or None if rate limits are off."""
        return rate if self.rate_limits else None
