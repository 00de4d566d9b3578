"""Services: the functions of Imprint, one object per group of actions."""
