"""File names for batches: :func:`file_name`."""

from __future__ import annotations

import hashlib

_LONGEST_NAME = 200  # bytes of a batch's id in a file's name, of the 255 that most file systems allow


def file_name(batch_id: str) -> str:
    """Make a file name for a batch, and no other batch's: what a name cannot hold is replaced, and a digest keeps such
    names apart.

    >>> file_name("file:1.csv"), file_name("file:a/b.csv"), file_name("file:a b.csv")
    ('file-1.csv', 'file-a-b.csv-dc5f3b66', 'file-a-b.csv-bc71044b')
    """
    plain = batch_id.replace("file:", "file-", 1)
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in plain)
    if name == plain and len(name.encode()) <= _LONGEST_NAME:
        return name
    cut = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
    return f"{cut}-{hashlib.sha256(batch_id.encode(errors='surrogateescape')).hexdigest()[:8]}"
