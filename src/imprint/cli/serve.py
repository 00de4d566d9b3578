"""`imprint serve`: the service, from settings."""

import os
from pathlib import Path

import click
import uvloop
from prometheus_client import make_asgi_app

from imprint.bootstrap import build_service, check_chain, open_parts
from imprint.cli.complaints import complaining
from imprint.cli.servers import listen, make_server, serve_all
from imprint.logs import set_up_logs
from imprint.settings import Settings, read_settings
from imprint.web.edge import request_id


@click.command()
@click.option("--config", type=click.Path(path_type=Path), help="A TOML file with settings.")
@click.option("--host", help="The address to listen on.")
@click.option("--port", help="The port to listen on.")
def serve(config: Path | None, host: str | None, port: str | None) -> None:
    """Run the service from the settings in the environment and in a TOML file."""
    with complaining():
        options = {"IMPRINT_HOST": host, "IMPRINT_PORT": port}
        given = {name: text for name, text in options.items() if text is not None}
        settings = read_settings(os.environ, config, options=given)
        set_up_logs(
            settings.server.log_level,
            settings.server.log_format,
            settings.secrets,
            request_id.get,
        )
        uvloop.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    listener = listen(settings.server.host, settings.server.port)
    parts = open_parts(settings)
    try:
        await check_chain(parts.marketplace)
    except BaseException:
        await parts.close()
        raise
    limits = settings.limits
    app = build_service(settings, parts)
    servers = [(make_server(app, limits.keep_alive_seconds, limits.shutdown_seconds), listener)]
    if port := settings.server.metrics_port:
        metrics = make_server(make_asgi_app(), patience=1, has_lifespan=False)
        servers.append((metrics, listen(settings.server.host, port)))
    await serve_all(servers)
