"""The bundled weights of multilingual-e5-small as a tokenizer and an ONNX graph.

The source is one file, an "E5S1" container: a header, the Unigram tokenizer, and the BERT tensors, whose matrices are
blocks of 32 four-bit weights with one half-precision scale (zero point 8). The embedding table keeps its four bits.
In the form `q4` the encoder's matrices keep them too. In `i7` they become 7-bit integers, one scale a row, and their
inputs 8-bit integers, one scale a text. Seven bits and not eight, because processors with AVX2 but without VNNI add two
products in 16 bits, which eight bits overflow and seven cannot: so all processors make the same vectors but for the
rounding of what is between the matrices, which they do in other orders. That tips some of the whole numbers: 1 - cosine
.0004, and a cosine of two texts moves by .0015 (standard deviation; largest .006).

A few columns of an input are up to thirty times as large as the others, in every text the same, and would leave those
few steps: they are divided and their weights multiplied (SmoothQuant, arXiv 2211.10438). 1 - cosine with the float32
weights, mean and largest of 160 lines: .0012 and .0020, without that .0036 and .0070. `q4` takes 2.2 times as long.

The tensors stand in a file of their own, which onnxruntime maps: of the embedding table, 60 MB, a process has only what
its texts have asked for, and what it packs anew for its processor leaves no copy behind.
"""

import hashlib
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from retrieval.embeddings import onnx_format

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SOURCE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

Floats = npt.NDArray[np.float32]
Form = Literal["q4", "i7"]
Largest = Mapping[str, Floats]
"""By the name of a matrix's input: of each column the largest value that texts have made."""
WEIGHTS = "weights.bin"

_BLOCK = 32
_EVEN = 6.0  # times the median column: what is larger is divided
_PAGE = 4096  # a mapping begins with one
_PIECE = 1 << 16  # the system keeps what was written at once together, and maps all of it (up to 2 MB) for one row


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """An E5S1 file: the shape of the model, its Unigram vocabulary, and where each tensor starts."""

    data: bytes
    tensors: dict[str, int]
    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float
    bos: int
    eos: int
    pad: int
    unk: int
    pieces: list[str]
    scores: list[float]

    def floats(self, name: str, *shape: int) -> Floats:
        return np.frombuffer(self.data, "<f4", int(np.prod(shape)), self.tensors[name]).reshape(shape).copy()

    def blocks(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[np.uint8], Floats]:
        """Packed weights (rows, blocks, 16), neighbours sharing a byte with the first in the low half; scales (rows,
        blocks)."""
        block = np.dtype([("scale", "<f2"), ("weights", "u1", _BLOCK // 2)])
        count = columns // _BLOCK
        stored = np.frombuffer(self.data, block, rows * count, self.tensors[name])
        packed = stored["weights"]  # byte i: weight i in the low half, weight i + 16 in the high half
        nibbles = np.concatenate([packed & 15, packed >> 4], axis=1)
        paired = (nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)).astype(np.uint8)
        return paired.reshape(rows, count, _BLOCK // 2), stored["scale"].astype(np.float32).reshape(rows, count)

    def matrix(self, name: str, rows: int, columns: int) -> Floats:
        packed, scales = self.blocks(name, rows, columns)
        weights = np.stack([packed & 15, packed >> 4], axis=-1).reshape(rows, -1, _BLOCK).astype(np.float32) - 8
        return (weights * scales[:, :, None]).reshape(rows, columns)


def read(source: Path) -> ModelWeights:
    """Raises ValueError when `source` is not the file this was written for, OSError when it cannot be read."""
    data = source.read_bytes()
    if hashlib.sha256(data).hexdigest() != SOURCE_SHA256:
        raise ValueError(f"{source.name} is not the file this was written for")
    at = 8  # magic, version
    hidden, layers, heads, inner, vocabulary, positions, _, epsilon, _ = struct.unpack_from("<7ifi", data, at)
    at += struct.calcsize("<7ifi")
    count, bos, eos, pad, unk, text_bytes = struct.unpack_from("<5iQ", data, at)
    at += struct.calcsize("<5iQ")
    starts = np.frombuffer(data, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, at).tolist()
    at += 4 * count
    text = data[at : at + text_bytes]
    pieces = [text[starts[i] : starts[i + 1]].decode("utf-8", "replace") for i in range(count)]
    at += text_bytes
    _, map_bytes = struct.unpack_from("<iI", data, at)  # a character map: NFKC, which the tokenizer below does itself
    at += 8 + map_bytes
    (tensor_count,) = struct.unpack_from("<i", data, at)
    at += 4
    tensors = {}
    for _ in range(tensor_count):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        at += 2 + length
        _, _, tensors[name], _ = struct.unpack_from("<BIQQ", data, at)  # type, elements, offset, bytes
        at += struct.calcsize("<BIQQ")
    return ModelWeights(
        data, tensors, hidden, layers, heads, inner, vocabulary, positions, epsilon, bos, eos, pad, unk, pieces, scores
    )


# -- what is made of it ---------------------------------------------------------------------------------------------


def vocabulary(weights: ModelWeights) -> tuple[list[str], list[float]]:
    """The tokenizer's pieces, each at its number, and their scores."""
    pieces, scores = list(weights.pieces), list(weights.scores)
    if "<mask>" not in pieces and len(pieces) < weights.vocabulary:
        pieces.append("<mask>")
        scores.append(0.0)
    return pieces, scores


def make_tokenizer(weights: ModelWeights) -> "Tokenizer":
    """XLM-RoBERTa's tokenizer: NFKC, runs of spaces joined, Unigram pieces with "▁" for a space."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    known = list(zip(*vocabulary(weights), strict=True))
    tokenizer = Tokenizer(models.Unigram(known, unk_id=weights.unk, byte_fallback=False))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=False)
    bos, eos = weights.pieces[weights.bos], weights.pieces[weights.eos]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}", special_tokens=[(bos, weights.bos), (eos, weights.eos)]
    )
    special = (weights.bos, weights.eos, weights.pad, weights.unk)
    tokenizer.add_special_tokens([AddedToken(weights.pieces[i], special=True, normalized=False) for i in special])
    return tokenizer


class _Builder:
    """An ONNX graph in the making: values are known by name, and each call returns the name of its result. Tensors of
    more than a few numbers go to the file `stored`."""

    def __init__(self, stored: BinaryIO, form: Form, largest: Largest) -> None:
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []
        self.form = form
        self.watched: dict[str, int] = {}  # values that are also outputs, and their last size
        self._stored = stored
        self._largest = largest
        self._evened: set[str] = set()

    def evened(self, x: str) -> tuple[str, Floats]:
        """`x` with its large columns divided, and by what."""
        largest = self._largest[x]
        even = np.maximum(1, largest / (_EVEN * np.median(largest))).astype(np.float32)
        if x not in self._evened:
            self._evened.add(x)
            self.call("Div", [x, self.constant(f"{x}.even", even)], f"{x}.evened")
        return f"{x}.evened", even

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        return self.tensor(name, onnx_format.type_of(value), value.shape, value.tobytes())

    def tensor(self, name: str, kind: int, shape: Sequence[int], data: bytes) -> str:
        if len(data) < _PAGE:
            self.constants.append(onnx_format.tensor(name, kind, shape, data))
            return name
        offset = self._stored.seek(-self._stored.tell() % _PAGE, os.SEEK_CUR)
        for start in range(0, len(data), _PIECE):
            self._stored.write(data[start : start + _PIECE])
        self.constants.append(onnx_format.stored(name, kind, shape, WEIGHTS, offset, len(data)))
        return name

    def call(self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: float) -> str:
        self.nodes.append(onnx_format.node(operator, inputs, output, domain, attributes))
        return output


_MICROSOFT = "com.microsoft"


def make_graph(weights: ModelWeights, form: Form, stored: BinaryIO, largest: Largest) -> bytes:
    """BERT as one ONNX graph: (input_ids, attention_mask), both int64 (batch, length) → last_hidden_state (batch,
    length, hidden). Its weights are written to `stored`, the file `WEIGHTS` beside it.

    `i7` needs the `largest`, which `q4` makes: there the inputs of the matrices are further outputs.
    """
    builder = _Builder(stored, form, largest)
    x = _embeddings(builder, weights)
    mask = builder.call("Cast", ["attention_mask"], "mask", to=onnx_format.INT32)
    for layer in range(weights.layers):
        x = _layer(builder, weights, f"l{layer}.", x, mask)
    builder.call("Identity", [x], "last_hidden_state")
    inputs = [onnx_format.value(name, onnx_format.INT64, ["b", "s"]) for name in ("input_ids", "attention_mask")]
    outputs = {"last_hidden_state": weights.hidden} | builder.watched
    described = [onnx_format.value(name, onnx_format.FLOAT, ["b", "s", columns]) for name, columns in outputs.items()]
    opsets = {"": 21, _MICROSOFT: 1}
    return onnx_format.model(
        "multilingual-e5-small", builder.nodes, builder.constants, inputs, described, opsets, version=10
    )


def _embeddings(builder: _Builder, weights: ModelWeights) -> str:
    packed, scales = weights.blocks("emb.word", weights.vocabulary, weights.hidden)
    signed = (packed ^ 0x88).tobytes()  # unsigned with zero point 8 → two's complement
    dimensions = (weights.vocabulary, weights.hidden)
    builder.tensor("words", onnx_format.INT4, dimensions, signed)
    builder.constant("words.scales", scales)
    words = builder.call(
        "GatherBlockQuantized",
        ["words", "input_ids", "words.scales"],
        "word_embeddings",
        _MICROSOFT,
        block_size=_BLOCK,
        gather_axis=0,
        quantize_axis=1,
        bits=4,
    )
    types = weights.floats("emb.type", weights.hidden)[None]  # there is one token type: add it to the positions
    builder.constant("positions", weights.floats("emb.pos", weights.positions, weights.hidden) + types)
    for number in (0, 1, 2):
        builder.constant(f"number{number}", np.array([number], np.int64))
    shape = builder.call("Shape", ["input_ids"], "shape")
    length = builder.call("Slice", [shape, "number1", "number2", "number0"], "length")
    positions = builder.call("Slice", ["positions", "number0", length, "number0"], "position_embeddings")
    total = builder.call("Add", [words, positions], "embeddings")
    return _norm(builder, weights, "emb.ln", total)


def _layer(builder: _Builder, weights: ModelWeights, name: str, x: str, mask: str) -> str:
    hidden, inner = weights.hidden, weights.inner
    query, key, value = (_linear(builder, weights, name + part, x, hidden, hidden) for part in "qkv")
    attended = builder.call(
        "MultiHeadAttention", [query, key, value, "", mask], name + "attention", _MICROSOFT, num_heads=weights.heads
    )
    attended = _linear(builder, weights, name + "ao", attended, hidden, hidden)
    x = _norm(builder, weights, name + "aln", builder.call("Add", [x, attended], name + "attended"))
    wide = _linear(builder, weights, name + "fi", x, inner, hidden)
    wide = builder.call("Gelu", [wide], name + "gelu", _MICROSOFT)
    narrow = _linear(builder, weights, name + "fo", wide, hidden, inner)
    return _norm(builder, weights, name + "oln", builder.call("Add", [x, narrow], name + "fed"))


def _norm(builder: _Builder, weights: ModelWeights, name: str, x: str) -> str:
    scale = builder.constant(f"{name}.w", weights.floats(f"{name}.w", weights.hidden))
    bias = builder.constant(f"{name}.b", weights.floats(f"{name}.b", weights.hidden))
    return builder.call("LayerNormalization", [x, scale, bias], f"{name}.out", axis=-1, epsilon=weights.epsilon)


def _linear(builder: _Builder, weights: ModelWeights, name: str, x: str, rows: int, columns: int) -> str:
    """x · Wᵀ + b, the matrix stored as the form says."""
    bias = builder.constant(f"{name}.b", weights.floats(f"{name}.b", rows))
    if builder.form == "q4":
        builder.watched[x] = columns
        packed, scales = weights.blocks(f"{name}.w", rows, columns)
        inputs = [x, builder.constant(f"{name}.q", packed), builder.constant(f"{name}.s", scales.reshape(-1))]
        product = builder.call(
            "MatMulNBits",
            inputs,
            f"{name}.product",
            _MICROSOFT,
            K=columns,
            N=rows,
            bits=4,
            block_size=_BLOCK,
            accuracy_level=4,
        )
        return builder.call("Add", [product, bias], f"{name}.out")
    x, even = builder.evened(x)
    matrix = weights.matrix(f"{name}.w", rows, columns) * even
    scale = (np.abs(matrix).max(axis=1) / 63).astype(np.float32)
    whole = np.rint(matrix / scale[:, None]).astype(np.int8).T.copy()
    inputs = [x, builder.constant(f"{name}.q", whole), builder.constant(f"{name}.s", scale)]
    inputs += [builder.constant(f"{name}.z", np.zeros(rows, np.int8)), bias]
    return builder.call("DynamicQuantizeMatMul", inputs, f"{name}.out", _MICROSOFT)
