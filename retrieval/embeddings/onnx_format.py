"""Graphs in the ONNX format, written down. The `onnx` package, which does this and much else, is 29 MB with what it
needs; the format is a message of Protocol Buffers, of which a graph needs eleven kinds of field.

Source: onnx/onnx.proto and onnx.helper of ONNX 1.20; a test compares the two.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

FLOAT, UINT8, INT8, INT32, INT64, INT4 = 1, 2, 3, 6, 7, 22
_TYPES = {np.dtype(name): number for name, number in (("f4", FLOAT), ("u1", UINT8), ("i1", INT8), ("i8", INT64))}
_IS_FLOAT, _IS_INT = 1, 2  # kinds of attributes
_EXTERNAL = 1  # where a tensor's data is


def node(operator: str, inputs: Sequence[str], output: str, domain: str, attributes: Mapping[str, float]) -> bytes:
    """A call of an operator; `attributes` are integers and floating-point numbers."""
    return b"".join(
        (
            *(_bytes(1, name.encode()) for name in inputs),
            _bytes(2, output.encode()),
            _bytes(4, operator.encode()),
            *(_bytes(5, _attribute(name, value)) for name, value in sorted(attributes.items())),
            _bytes(7, domain.encode()),
        )
    )


def type_of(value: npt.NDArray[Any]) -> int:
    return _TYPES[value.dtype]


def tensor(name: str, kind: int, shape: Sequence[int], data: bytes) -> bytes:
    return _described(name, kind, shape) + _bytes(9, data)


def stored(name: str, kind: int, shape: Sequence[int], file: str, offset: int, length: int) -> bytes:
    """A tensor whose data is `length` bytes of a `file` in the model's folder."""
    where = {"location": file, "offset": str(offset), "length": str(length)}
    entries = (_bytes(13, _bytes(1, key.encode()) + _bytes(2, text.encode())) for key, text in where.items())
    return b"".join((_described(name, kind, shape), *entries, _number(14, _EXTERNAL)))


def _described(name: str, kind: int, shape: Sequence[int]) -> bytes:
    return b"".join((*(_number(1, size) for size in shape), _number(2, kind), _bytes(8, name.encode())))


def value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    """An input or output; a size that varies has a name."""
    sizes = (_number(1, size) if isinstance(size, int) else _bytes(2, size.encode()) for size in shape)
    dimensions = b"".join(_bytes(1, size) for size in sizes)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dimensions)))


def model(
    name: str,
    nodes: Sequence[bytes],
    constants: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    opsets: Mapping[str, int],
    version: int,
) -> bytes:
    """A whole file; `version` is that of the format."""
    graph = b"".join(
        (
            *(_bytes(1, each) for each in nodes),
            _bytes(2, name.encode()),
            *(_bytes(5, each) for each in constants),
            *(_bytes(11, each) for each in inputs),
            *(_bytes(12, each) for each in outputs),
        )
    )
    domains = (_bytes(8, _bytes(1, domain.encode()) + _number(2, number)) for domain, number in opsets.items())
    return b"".join((_number(1, version), _bytes(7, graph), *domains))


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, float):
        return _bytes(1, name.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _IS_FLOAT)
    return _bytes(1, name.encode()) + _number(3, value) + _number(20, _IS_INT)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
