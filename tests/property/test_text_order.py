"""Texts are sorted by code point by the kernel just as Python does it."""

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from rowlaw.kernels.text import sort_texts

alike = st.text(alphabet="ab\0é😀", max_size=30)


@given(st.lists(st.one_of(alike, st.text(max_size=40)), unique=True))
@example(["a\0", "a", "", "\0", "a" * 8, "a" * 8 + "\0", "a" * 16])
def test_order_is_by_code_point(texts):
    texts = [t for t in texts if not any(0xD800 <= ord(c) <= 0xDFFF for c in t)]
    array = pa.array(texts, pa.large_string())
    _, offsets, data = array.buffers()
    order = sort_texts(np.frombuffer(data or b"\0", np.uint8), np.frombuffer(offsets, np.int64)[: len(texts) + 1])
    assert [texts[i] for i in order] == sorted(texts)
