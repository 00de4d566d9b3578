"""Recoding of images in sandboxed processes."""
