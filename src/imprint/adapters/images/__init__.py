"""The recoding of images: who asks for it, the process that does it, and what it runs."""
