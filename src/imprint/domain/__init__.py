"""What the service is about, pure: files, posts, access, tags, paging, addresses, cids, refusals."""
