"""Publishing a post for the site tests, from draft to index."""

from tests.world import World


async def publish(
    world: World,
    wallet: int,
    *tags: str,
    price: int = 0,
    title: str = "A title",
    about: str = "About it",
    content: str = "Some *words*.",
    on_chain: tuple[str, ...] | None = None,
) -> str:
    """Publish and index a post, and return its id. `on_chain` overrides its chain hashtags."""
    author = world.wallet(wallet)
    file = await world.create(author, content)
    thumbnail = await world.publish(author, file["cid"], ",".join(tags))
    hashtags = list(tags if on_chain is None else on_chain)
    entry = (file["cid"], title, thumbnail, about, price, hashtags)
    (event,) = (await world.deliver_a(world.create_post_with(author, entry))).json()["events"]
    await world.index()
    return str(event["postId"])
