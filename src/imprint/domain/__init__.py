"""What the service is about: files, posts, access, tags, paging, addresses, cids, refusals."""
