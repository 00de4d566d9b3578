"""Implementations of the ports: catalog, content, chain, webhooks, archives, images, encryption."""
