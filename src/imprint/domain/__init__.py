"""The domain: files, posts, access, tags, lists, addresses, CIDs and errors; no I/O or clock."""
