"""A real MinIO server for all tests of a process, and the workbench for the conformance tests."""

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.crash.fork_server import ForkServer
from tests.s3.server import KEY_ID, SECRET, MinioServer

from imprint.adapters.content.bucket import BucketAccess, BucketStore, open_bucket, open_objects
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import UNNAMED, Identity


def access_to(
    server: MinioServer, bucket: str, prefix: str = "imprint", endpoint: str | None = None
) -> BucketAccess:
    """Access settings for a bucket on the server."""
    endpoint = endpoint or server.endpoint
    return BucketAccess("s3", bucket, prefix, endpoint, "us-east-1", KEY_ID, SECRET)


def keys_in(server: MinioServer, bucket: str, prefix: str = "imprint") -> list[str]:
    """The keys of all objects below a prefix."""
    objects = open_objects(access_to(server, bucket, prefix))
    return [each["path"] for page in objects.list() for each in page]


class BucketWorkbench:
    """A content store in a separate bucket, and the objects in it."""

    def __init__(self, server: MinioServer) -> None:
        self.server = server
        self.bucket = server.make_bucket()
        self.access = access_to(server, self.bucket)
        self.objects = open_objects(self.access)
        self.store = self.open(UNNAMED)

    def open(self, identity: Identity) -> BucketStore:
        return open_bucket(self.access, identity)

    async def reopen(self) -> None:
        await self.store.close()
        self.store = self.open(UNNAMED)

    def keys(self) -> list[str]:
        return keys_in(self.server, self.bucket)

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        for key in self.keys():
            if key.startswith(f"{network}/{cid}/"):
                self.objects.put(key, document)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    running = MinioServer(tmp_path_factory.mktemp("minio"))
    running.start()
    yield running
    running.kill()


@pytest.fixture
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    """A server that a test may kill."""
    running = MinioServer(tmp_path_factory.mktemp("minio"))
    running.start()
    yield running
    running.kill()


@pytest.fixture
async def bench(server: MinioServer) -> AsyncIterator[BucketWorkbench]:
    workbench = BucketWorkbench(server)
    yield workbench
    await workbench.store.close()


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()
