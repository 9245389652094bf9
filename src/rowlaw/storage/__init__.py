"""Tables on disk whose rows come and go: a folder of arrays in generations, and :class:`GrowingTable` in it."""
