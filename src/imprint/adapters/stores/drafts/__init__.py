"""Stores for drafts: the signed writes, and the documents that they leave behind."""
