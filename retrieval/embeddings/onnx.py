"""A session of onnxruntime by itself: what fastembed imports besides is 25 MB and a third of a second."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def opened(model: Path) -> Any:
    """A session of which any number of threads may ask at once, each computing its own text."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it would keep 90 MB for the next long text, and is no faster
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def fed(tokens: Sequence[int]) -> dict[str, npt.NDArray[np.int64]]:
    """One text as a model's inputs."""
    ids = np.array([tokens], np.int64)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


class MeanOfStates:
    """A model of token ids whose vector is the mean of a text's last states. It is loaded at its first text."""

    def __init__(self, model: Path) -> None:
        self._model = model

    def vector(self, tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """(dimensions,) of a text."""
        ((states,),) = self._session.run(["last_hidden_state"], fed(tokens))
        vector: npt.NDArray[np.float32] = states.mean(axis=0)
        return vector

    @cached_property
    def _session(self) -> Any:
        return opened(self._model)
