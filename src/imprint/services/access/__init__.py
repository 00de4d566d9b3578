"""Access control: who may read what."""
