"""The content store that the settings name; what only another one needs is not loaded."""

from importlib import import_module

from imprint.adapters.content.embedded import EmbeddedStore
from imprint.bootstrap.starting import CannotStart
from imprint.ports import Clock, ContentStore
from imprint.settings import KuboContent, PinataContent, Settings, write_authorization

_KUBO = "imprint.adapters.content.kubo"
_PINATA = "imprint.adapters.content.pinata"
_PINATA_API = "imprint.adapters.content.pinata_api"


def open_content(settings: Settings, clock: Clock) -> ContentStore:
    """The store, not asked yet whether it is there. Raises `CannotStart` for an unusable folder."""
    storage = settings.storage
    if isinstance(storage.content, KuboContent):
        secret = storage.kubo_authorization
        authorization = None if secret is None else write_authorization(secret)
        kubo: ContentStore = import_module(_KUBO).KuboStore(storage.content.api, authorization)
        return kubo
    if isinstance(storage.content, PinataContent):
        # Both are there: settings without them have been refused.
        jwt = storage.pinata_jwt.reveal() if storage.pinata_jwt is not None else ""
        gateway = storage.pinata_gateway or ""
        account = import_module(_PINATA_API).Account(
            jwt, gateway, storage.pinata_api, storage.pinata_uploads
        )
        make_store = import_module(_PINATA).PinataStore
        pinata: ContentStore = make_store(account, clock, public=storage.content.public)
        return pinata
    try:
        return EmbeddedStore(storage.data_dir / "content", clock)
    except ValueError as error:
        raise CannotStart(str(error)) from error
