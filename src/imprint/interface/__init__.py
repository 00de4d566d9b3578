"""Requests and responses of the HTTP API, one annotated struct each.

The web layer encodes them, the OpenAPI description is generated from them, and the client
decodes them.
"""
