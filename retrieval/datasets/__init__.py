"""Datasets: Wikipedia (ja), CC-News and Livedoor news from the Hugging Face hub, and files of one's own, as a stream of
cleaned documents. Source: seeds/0_agent_rag.md §1.3, §4.2; architecture.md.

The hub's client takes a third of a second to load, so `retrieval.datasets.hub` is imported where a hub is chosen.
"""

from retrieval.datasets.catalogue import NAMED, Dataset
from retrieval.datasets.cleaning import Dropped, Prepared, Sieve
from retrieval.datasets.errors import DatasetError
from retrieval.datasets.local import Inspected, LocalSource, Split
from retrieval.datasets.rows import Columns, DatasetReading, DatasetRow, DatasetSource
from retrieval.datasets.stream import End, Ended, Left, Step, StreamLimits, steps

__all__ = [
    "NAMED",
    "Columns",
    "Dataset",
    "DatasetError",
    "DatasetReading",
    "DatasetRow",
    "DatasetSource",
    "Dropped",
    "End",
    "Ended",
    "Inspected",
    "Left",
    "LocalSource",
    "Prepared",
    "Sieve",
    "Split",
    "Step",
    "StreamLimits",
    "steps",
]
