"""The content store that the settings name."""

from imprint.adapters.content.embedded import EmbeddedStore
from imprint.adapters.content.kubo import KuboStore
from imprint.adapters.content.pinata import PinataStore
from imprint.adapters.content.pinata_api import Account
from imprint.bootstrap.starting import CannotStart
from imprint.ports import Clock, ContentStore
from imprint.settings import KuboContent, PinataContent, Settings, write_authorization


def open_content(settings: Settings, clock: Clock) -> ContentStore:
    """The store, not asked yet whether it is there. Raises `CannotStart` for an unusable folder."""
    storage = settings.storage
    if isinstance(storage.content, KuboContent):
        secret = storage.kubo_authorization
        return KuboStore(
            storage.content.api, None if secret is None else write_authorization(secret)
        )
    if isinstance(storage.content, PinataContent):
        # Both are there: settings without them have been refused.
        jwt = storage.pinata_jwt.reveal() if storage.pinata_jwt is not None else ""
        gateway = storage.pinata_gateway or ""
        account = Account(jwt, gateway, storage.pinata_api, storage.pinata_uploads)
        return PinataStore(account, clock, public=storage.content.public)
    try:
        return EmbeddedStore(storage.data_dir / "content", clock)
    except ValueError as error:
        raise CannotStart(str(error)) from error
