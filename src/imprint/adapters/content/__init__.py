"""Content stores: embedded (this machine's disk), bucket, Kubo and Pinata."""
