"""The requests and responses of the HTTP API, one annotated struct each.

The web encodes them, the OpenAPI description is generated from them, and the client decodes them.
"""
