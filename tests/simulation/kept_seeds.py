"""Seeds whose runs have failed once; they run with every other, so that no fault comes back."""

KEPT_SEEDS: tuple[int, ...] = (297,)
