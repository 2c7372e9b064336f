"""Sessions of onnxruntime, our own and those that fastembed opens, beside whatever else the machine has to do.

By default their threads turn on the spot for a while after each forward pass, on a core that others need: beside other
work on two cores a question then takes 37 ms instead of 15, and alone 6 instead of 9. Source: onnxruntime.ai, "Thread
management", `session.intra_op.allow_spinning`; fastembed has no option for it.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fastembed.common.onnx_model import OnnxModel

_ASLEEP = ("session.intra_op.allow_spinning", "0")


class MeanOfStates:
    """A model of token ids whose vector is the mean of a text's last states. It is loaded at its first text.

    By onnxruntime alone: what fastembed imports is 25 MB and a third of a second.
    """

    def __init__(self, model: Path, threads: int) -> None:
        self._model = model
        self._threads = threads

    def vectors(self, ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """(texts, dimensions) of two arrays (texts, tokens); the mask is 0 where a text has ended."""
        (states,) = self.session.run(None, {"input_ids": ids, "attention_mask": mask})
        counted = mask[:, :, None].astype(np.float32)
        vectors: npt.NDArray[np.float32] = (states * counted).sum(axis=1) / counted.sum(axis=1)
        return vectors

    @cached_property
    def session(self) -> Any:
        import onnxruntime  # type: ignore[import-untyped]

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = self._threads
        options.add_session_config_entry(*_ASLEEP)
        return onnxruntime.InferenceSession(self._model, options, providers=["CPUExecutionProvider"])


def without_spinning(model: "OnnxModel[Any]") -> None:
    """Lets the threads of a model of fastembed's that is not loaded yet sleep while they wait."""
    known = type(model).add_extra_session_options

    def add(session_options: Any, extra_options: dict[str, Any]) -> None:
        session_options.add_session_config_entry(*_ASLEEP)
        known(session_options, extra_options)

    model.add_extra_session_options = add  # type: ignore[method-assign]
