"""New rows against old ones: the old rows that could break a rule together with a new row are found first, then an
engine answers."""
