"""Draft stores: signed writes, and the documents they leave behind."""
