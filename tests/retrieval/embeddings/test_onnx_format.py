"""The written form of a graph, beside the one that the `onnx` package writes."""

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from retrieval.embeddings import onnx_format


def test_a_model_is_written_as_onnx_writes_it() -> None:
    words = np.arange(6, dtype=np.float32).reshape(2, 3)
    steps = np.array([-1, 2**40], np.int64)
    mine = onnx_format.model(
        "graph",
        [
            onnx_format.node("Gather", ["words", "ids"], "found", "", {"axis": -1}),
            onnx_format.node("Norm", ["found", ""], "out", "com.example", {"epsilon": 1e-12, "bits": 4}),
        ],
        [
            onnx_format.tensor("words", onnx_format.type_of(words), words.shape, words.tobytes()),
            onnx_format.tensor("steps", onnx_format.type_of(steps), steps.shape, steps.tobytes()),
            onnx_format.tensor("packed", onnx_format.INT4, (2, 4), b"\x12\x34\x56\x78"),
            onnx_format.stored("apart", onnx_format.INT8, (16,), "weights.bin", 4096, 16),
        ],
        [onnx_format.value("ids", onnx_format.INT64, ["b", "s"])],
        [onnx_format.value("out", onnx_format.FLOAT, ["b", "s", 384])],
        {"": 21, "com.example": 1},
        version=10,
    )
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["words", "ids"], ["found"], domain="", axis=-1),
            helper.make_node("Norm", ["found", ""], ["out"], domain="com.example", epsilon=1e-12, bits=4),
        ],
        "graph",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["b", "s"])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["b", "s", 384])],
        [
            numpy_helper.from_array(words, "words"),
            numpy_helper.from_array(steps, "steps"),
            TensorProto(name="packed", data_type=TensorProto.INT4, dims=[2, 4], raw_data=b"\x12\x34\x56\x78"),
            apart(TensorProto(name="apart", data_type=TensorProto.INT8, dims=[16], raw_data=bytes(16))),
        ],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 1)]
    assert mine == helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def apart(tensor: TensorProto) -> TensorProto:
    set_external_data(tensor, "weights.bin", offset=4096, length=16)
    tensor.ClearField("raw_data")
    return tensor


@given(st.integers(-(2**63), 2**63 - 1), st.text(max_size=200), st.floats(width=32, allow_nan=False))
def test_any_attribute_is_read_back(number: int, name: str, real: float) -> None:
    written = onnx_format.node("Call", [name], name, name, {"number": number, "real": real})
    read = onnx.NodeProto.FromString(written)
    assert [*read.input] == [*read.output] == [read.domain] == [name]
    assert {each.name: helper.get_attribute_value(each) for each in read.attribute} == {"number": number, "real": real}
