"""How documents are stored: as they are, or encrypted."""
