"""The domain: files, posts, access, tags, lists, addresses, CIDs and errors, without I/O."""
