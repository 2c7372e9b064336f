"""The type of a file by its first bytes, and whether that agrees with its name."""

from pathlib import PurePath

from retrieval.loaders.limits import FileRefused

_VARIANTS = {  # with macros, as templates, as shows: the same within
    ".docm": ".docx",
    ".dotx": ".docx",
    ".pptm": ".pptx",
    ".potx": ".pptx",
    ".ppsx": ".pptx",
    ".xlsm": ".xlsx",
    ".xltx": ".xlsx",
}
SUFFIXES = frozenset(
    {".md", ".markdown", ".txt", ".html", ".htm", ".csv", ".tsv", ".json", ".jsonl", ".pdf", ".docx", ".pptx", ".xlsx"}
    | {".epub", ".mdx", *_VARIANTS}
)
_ARCHIVES = frozenset({".docx", ".pptx", ".xlsx", ".epub"})
_OTHERS = {
    "mail": {".msg", ".eml", ".mbox", ".pst", ".oft"},
    "image": {".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp", ".heic", ".heif", ".svg"},
    "legacy": {".doc", ".xls", ".ppt", ".dot", ".rtf", ".odt", ".ods", ".odp", ".pages", ".numbers", ".key"},
    "packed": {".zip", ".7z", ".rar", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".lzh"},
}
_OTHER_MARKUP = frozenset({".rst", ".adoc", ".asciidoc", ".org", ".textile", ".mediawiki", ".wiki", ".ipynb"})
DOCUMENTS = SUFFIXES | (_OTHERS["legacy"] - {".key"}) | _OTHER_MARKUP
"""Endings of what people take for documents, those included that cannot be read. A .key is more often a secret than a
talk."""
_KNOWN = DOCUMENTS.union(*_OTHERS.values())
_MAGIC = (
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"PK\x03\x04", "ZIP"),
    (b"PK\x05\x06", "ZIP"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"{\\rtf", "RTF"),
    (b"\x7fELF", "ELF"),
    (b"SQLite format 3\0", "SQLite"),
)
_PICTURES = frozenset({"PNG", "JPEG", "GIF", "TIFF", "WebP"})


def suffix_of(name: str) -> str:
    """The ending of a file's name in small letters, with its dot; `""` if it has none."""
    return PurePath(name.replace("\\", "/")).suffix.lower()


def _bare(name: str) -> str:
    """The name without its folders."""
    return name.replace("\\", "/").rpartition("/")[2].strip()


def as_text(name: str) -> str:
    """The name of a text that somebody calls so: Markdown, unless it has an ending that files have. Some end in a date
    or a version."""
    bare = _bare(name)
    return name if not bare or bare.lower() in _KNOWN or suffix_of(name) in _KNOWN else f"{name}.md"


def check_name(name: str) -> str:
    """The ending of a file that can be read, or of what it is read like. Raises `FileRefused`: nameless, type, mail,
    image, legacy, packed."""
    suffix, bare = suffix_of(name), _bare(name)
    if not bare or bare.lower() in _KNOWN:
        raise FileRefused("nameless")
    for reason, suffixes in _OTHERS.items():
        if suffix in suffixes:
            raise FileRefused(reason)
    if suffix not in SUFFIXES:
        raise FileRefused(
            "type", suffix=suffix or PurePath(name).name, known=", ".join(sorted(SUFFIXES - _VARIANTS.keys()))
        )
    return _VARIANTS.get(suffix, suffix)


def check_content(suffix: str, data: bytes) -> None:
    """Raises `FileRefused` (empty, mismatch, webpage, mail, image, legacy, encrypted) if `data` is not of that kind."""
    if not data.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        raise FileRefused("empty")
    found = _kind(data)
    if found == "OLE":
        _refuse_ole(data)
    if suffix == ".pdf":
        fits = found == "PDF"
    elif suffix in _ARCHIVES:
        fits = found == "ZIP"
    else:
        fits = found in ("", "HTML") if suffix in (".html", ".htm") else not found
    if fits:
        return
    if found == "HTML":
        raise FileRefused("webpage", suffix=suffix)
    if found in _PICTURES:
        raise FileRefused("image")
    if not found:  # text, or something unknown, under the name of a document
        raise FileRefused("corrupt", kind=suffix[1:].upper())
    raise FileRefused("mismatch", suffix=suffix, found=found)


def _kind(data: bytes) -> str:
    """`""` for what may be text."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if b"%PDF-" in data[:1024]:
        return "PDF"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP"
    opening = data[:1024].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    return "HTML" if opening.startswith((b"<!doctype html", b"<html")) else ""


def _refuse_ole(data: bytes) -> None:
    """Microsoft's older container: an encrypted Office file, a mail, or an old document."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise FileRefused("encrypted")
    raise FileRefused("mail" if "__substg1.0_".encode("utf-16-le") in data else "legacy")
