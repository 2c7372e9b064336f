"""A cross-encoder so small that a test builds it: its score is how many words question and text have in common."""

import json
from collections.abc import Sequence
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def cross_encoder(
    folder: Path, words: Sequence[str], *, file: str = "model.onnx", licence: str = "", scale: float = 1.0
) -> Path:
    """The folder, with a model that knows these words. `scale` is what a common word counts."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: id for id, word in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    ends = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"model_max_length": 64, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    if licence:
        (folder / "README.md").write_text(
            f"---\ntags:\n- reranker\nlicense: {licence}\n---\n# Tiny\n", encoding="utf-8"
        )
    ids, types, mask = "input_ids", "token_type_ids", "attention_mask"
    names = (ids, types, mask)
    constants = [
        helper.make_tensor("last", TensorProto.INT64, [1], [2]),
        helper.make_tensor("middle", TensorProto.INT64, [1], [1]),
        helper.make_tensor("both", TensorProto.INT64, [2], [1, 2]),
        helper.make_tensor("one", TensorProto.INT64, [1], [1]),
        helper.make_tensor("known", TensorProto.INT64, [1], [len(SPECIAL) - 1]),
        helper.make_tensor("scale", TensorProto.FLOAT, [1], [scale]),
    ]
    nodes = [
        helper.make_node("Greater", [ids, "known"], ["is_word"]),
        helper.make_node("Cast", ["is_word"], ["word"], to=TensorProto.INT64),
        helper.make_node("Sub", ["one", types], ["asked"]),
        helper.make_node("Mul", ["asked", "word"], ["left"]),
        helper.make_node("Mul", [types, mask], ["right"]),
        helper.make_node("Unsqueeze", [ids, "last"], ["rows"]),
        helper.make_node("Unsqueeze", [ids, "middle"], ["columns"]),
        helper.make_node("Equal", ["rows", "columns"], ["same"]),
        helper.make_node("Cast", ["same"], ["pairs"], to=TensorProto.INT64),
        helper.make_node("Unsqueeze", ["left", "last"], ["left_rows"]),
        helper.make_node("Unsqueeze", ["right", "middle"], ["right_columns"]),
        helper.make_node("Mul", ["pairs", "left_rows"], ["from_question"]),
        helper.make_node("Mul", ["from_question", "right_columns"], ["common"]),
        helper.make_node("ReduceSum", ["common", "both"], ["count"], keepdims=0),
        helper.make_node("Unsqueeze", ["count", "middle"], ["column"]),
        helper.make_node("Cast", ["column"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["number", "scale"], ["scores"]),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in names]
    output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["texts", 1])
    graph = helper.make_graph(nodes, "common_words", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / file))
    return folder
