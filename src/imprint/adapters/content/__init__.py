"""Content stores: embedded (this machine's disk), Kubo and Pinata."""
