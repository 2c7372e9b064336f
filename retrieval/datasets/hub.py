"""Datasets on the Hugging Face hub, row by row: their Parquet files are read in place, by ranges, and only as far as
somebody wants rows. Nothing is downloaded to the disk.

Source: huggingface.co/docs/hub/api; huggingface_hub 1.x; huggingface.co/docs/dataset-viewer/parquet
(`refs/convert/parquet`)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_url
from huggingface_hub.errors import (
    DisabledRepoError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    get_session,
    hf_raise_for_status,
    parse_ratelimit_headers,
)
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from retrieval.datasets import errors
from retrieval.datasets.catalogue import Dataset
from retrieval.datasets.errors import DatasetError
from retrieval.datasets.parquet import Ranges, records
from retrieval.datasets.rows import Abandoned, Columns, DatasetReading, DatasetRow, guess
from retrieval.i18n import Text

TRIES = 4
LONGEST_WAIT = 60.0  # seconds that the hub may ask for between two tries; for more, people are told
_CONVERTED = "refs/convert/parquet"  # where the hub keeps its own conversion of any dataset
_TIMEOUT = httpx.Timeout(20.0, connect=10.0)
_PASSES = frozenset({408, 425, 429, 500, 502, 503, 504})


class CutOff(httpx.ReadError):
    """A body that ended early."""


class Hub:
    """The hub of `HF_ENDPOINT`, or another `endpoint`; the token is the client library's own (`HF_TOKEN`, or a login).

    `pause` waits between two tries; telling how it is done is for tests.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        token: str | bool | None = None,
        *,
        pause: Callable[[DatasetReading, float], None] = DatasetReading.wait,
    ) -> None:
        self._api = HfApi(endpoint=endpoint, token=token)
        self._token = token
        self._pause = pause
        constants.HF_HUB_DISABLE_TELEMETRY = True  # read at its import, which may be long past

    @property
    def endpoint(self) -> str:
        return self._api.endpoint

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint).netloc

    # -- what is there ----------------------------------------------------------------------------------------------

    def files(self, dataset: Dataset, reading: DatasetReading) -> list["HubFile"]:
        """The dataset's Parquet files, its training split first, at the commit they are at now. Raises DatasetError."""
        for revision in (None, _CONVERTED):
            try:
                ask = partial(self._api.dataset_info, dataset.repository, revision=revision, timeout=_TIMEOUT.read)
                info = self._asking(dataset, reading, ask)
            except RevisionNotFoundError:
                continue  # nothing was converted
            names = [sibling.rfilename for sibling in info.siblings or ()]
            if chosen := _parquet(names, dataset.config):
                return [HubFile(self, dataset, info.sha or revision or "main", name) for name in chosen]
        where = (
            Text(en=f" in “{dataset.config}”", ja=f"の「{dataset.config}」") if dataset.config else Text(en="", ja="")
        )
        raise _NoFiles(errors.NO_FILES, where, dataset.repository)

    def size(self, file: "HubFile", reading: DatasetReading) -> int:
        """Bytes. Raises DatasetError."""

        def ask() -> int:
            found = get_hf_file_metadata(
                file.url, token=self._token, timeout=_TIMEOUT.read, endpoint=self._api.endpoint
            )
            if found.size is None:
                raise FileMetadataError("no size")
            return found.size

        return int(self._asking(file.dataset, reading, ask))

    def fetch(self, file: "HubFile", reading: DatasetReading, start: int, end: int) -> bytes:
        """The bytes `start` to `end` (exclusive) of a file. Raises DatasetError, Abandoned."""
        headers = build_hf_headers(
            token=self._token, headers={"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        )

        def ask() -> bytes:
            got = bytearray()
            with get_session().stream("GET", file.url, headers=headers, timeout=_TIMEOUT) as response:
                if response.status_code >= 400:
                    response.read()
                hf_raise_for_status(response)
                told = response.headers.get("Content-Range", "")
                if response.status_code != 206 or not told.startswith(f"bytes {start}-{end - 1}/"):
                    raise FileMetadataError(f"asked for a range, got {response.status_code} {told!r}")
                for piece in response.iter_raw():
                    reading.check()
                    got += piece
                    reading.bytes += len(piece)
                    if len(got) > end - start:
                        raise FileMetadataError("more than was asked for")
            if len(got) < end - start:
                raise CutOff("the body ended early", request=response.request)
            return bytes(got)

        return bytes(self._asking(file.dataset, reading, ask))

    # -- asking, and what goes wrong --------------------------------------------------------------------------------

    def _asking(self, dataset: Dataset, reading: DatasetReading, ask: Callable[[], Any]) -> Any:
        """The result of `ask`, with a few tries. Raises DatasetError, Abandoned, RevisionNotFoundError."""
        reading.check()
        tries = Retrying(
            stop=stop_after_attempt(TRIES),
            wait=_wait,
            retry=retry_if_exception(_passes),
            sleep=lambda seconds: self._pause(reading, seconds),
            reraise=True,
        )
        with self._worded(dataset):
            return tries(ask)

    @contextmanager
    def _worded(self, dataset: Dataset) -> Iterator[None]:
        try:
            yield
        except (RevisionNotFoundError, Abandoned, DatasetError):
            raise
        except OfflineModeIsEnabled as error:
            raise DatasetError(errors.OFFLINE) from error
        except GatedRepoError as error:
            raise DatasetError(errors.GATED, repository=dataset.repository) from error
        except RepositoryNotFoundError as error:
            raise DatasetError(errors.MISSING, repository=dataset.repository, host=self.host) from error
        except DisabledRepoError as error:
            raise DatasetError(errors.DISABLED, repository=dataset.repository) from error
        except HfHubHTTPError as error:
            raise self._status(error, dataset) from error
        except CutOff as error:
            raise DatasetError(errors.CUT, host=self.host) from error
        except httpx.RemoteProtocolError as error:
            raise DatasetError(errors.CUT, host=self.host) from error
        except httpx.TransportError as error:
            raise DatasetError(errors.UNREACHABLE, host=self.host) from error
        except (httpx.HTTPError, OSError, ValueError, TypeError, KeyError) as error:  # a page, or JSON of another shape
            raise DatasetError(errors.UNEXPECTED, repository=dataset.repository, host=self.host) from error

    def _status(self, error: HfHubHTTPError, dataset: Dataset) -> DatasetError:
        status = error.response.status_code
        match status:
            case 429:
                return DatasetError(errors.BUSY, host=self.host, seconds=round(_asked_for(error) or 60))
            case 401 if "credentials" in (error.response.headers.get("X-Error-Message") or "").lower():
                return DatasetError(errors.TOKEN)
            case 401 | 404:
                return DatasetError(errors.MISSING, repository=dataset.repository, host=self.host)
            case 403 | 451:
                return DatasetError(errors.DENIED, repository=dataset.repository, status=status)
            case _ if status in _PASSES or status >= 500:
                return DatasetError(errors.UNAVAILABLE, host=self.host, status=status)
            case _:
                return DatasetError(errors.UNEXPECTED, repository=dataset.repository, host=self.host)


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file at one commit: its bytes never change."""

    hub: Hub
    dataset: Dataset
    revision: str
    path: str

    @property
    def url(self) -> str:
        return hf_hub_url(
            self.dataset.repository,
            self.path,
            repo_type="dataset",
            revision=self.revision,
            endpoint=self.hub.endpoint,
        )


@dataclass(frozen=True, slots=True)
class HubSource:
    """A named dataset as a source of rows."""

    hub: Hub
    dataset: Dataset
    columns: Columns | None = None  # None: by their names

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def chrome(self) -> str:
        return {"wikipedia_ja": "wikipedia", "cc_news": "news"}.get(self.dataset.name, self.dataset.name)

    def attribution(self, row: DatasetRow) -> str:
        return self.dataset.credit

    def rows(self, reading: DatasetReading) -> Iterator[DatasetRow]:
        number = 0
        for file in self.hub.files(self.dataset, reading):
            fetch = partial(self.hub.fetch, file, reading)
            ranges = Ranges(file.path, self.hub.size(file, reading), fetch)
            columns = self.columns
            for record in records(ranges):
                if columns is None and (columns := guess(list(record), [record])) is None:
                    raise DatasetError(errors.NO_TEXT, name=self.dataset.repository, columns=", ".join(record))
                number += 1
                yield columns.row(number, record)


class _NoFiles(DatasetError):
    """Its place is named in the reader's language."""

    def __init__(self, reason: Text, where: Text, repository: str) -> None:
        super().__init__(
            Text(
                en=reason.en.replace("{where}", where.en),
                ja=reason.ja.replace("{where}", where.ja),
            ),
            repository=repository,
        )


def _parquet(names: list[str], config: str | None) -> list[str]:
    """The Parquet files of a configuration; the training split first."""
    found = [name for name in names if name.endswith(".parquet")]
    if config is not None:
        found = [name for name in found if name.startswith(f"{config}/")]
    return sorted(found, key=lambda name: ("train" not in name, name))


def _passes(error: BaseException) -> bool:
    """Whether it may work the next time."""
    if isinstance(error, HfHubHTTPError):
        wait = _asked_for(error)
        return error.response.status_code in _PASSES and (wait is None or wait <= LONGEST_WAIT)
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)


def _wait(state: RetryCallState) -> float:
    """Seconds: what the hub asks for, else 1, 2, 4."""
    error = state.outcome.exception() if state.outcome else None
    asked = _asked_for(error) if isinstance(error, HfHubHTTPError) else None
    return asked if asked is not None else float(2 ** (state.attempt_number - 1))


def _asked_for(error: HfHubHTTPError) -> float | None:
    """Seconds by `RateLimit` (when nothing remains) or `Retry-After`."""
    headers = error.response.headers
    try:
        limit = parse_ratelimit_headers(headers)
        if limit is not None and limit.remaining == 0:
            return float(limit.reset_in_seconds)
        return max(0.0, float(headers["Retry-After"]))
    except (KeyError, ValueError):
        return None
