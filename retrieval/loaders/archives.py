"""Office documents and e-books are ZIP archives: checked before anything is unpacked, then rewritten so that the
libraries behind us see only parts whose true size is known, with their names in one encoding and no pictures."""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath

from retrieval.loaders.dates import stated
from retrieval.loaders.encodings import member_name
from retrieval.loaders.limits import FileRefused, ParsingLimits, size

_TEXTUAL = (".xml", ".rels", ".vml", ".html", ".xhtml", ".htm", ".opf", ".ncx")
_ARCHIVES = {".zip", ".7z", ".rar", ".gz", ".tgz", ".bz2", ".xz", ".tar", ".jar", ".docx", ".pptx", ".xlsx", ".epub"}
_ARCHIVE_MAGIC = (b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\x00")
# Where Office puts the workbook behind a chart and compressed metafiles. Never opened, and emptied here.
_ATTACHMENTS = {"embeddings", "media", "fonts"}
_FOLDERS = {".docx": "word", ".pptx": "ppt", ".xlsx": "xl"}
_PROPERTY = re.compile(r"<dcterms:(modified|created)\b[^>]*>([^<]+)<")
_TEMPLATES = {"2013-12-23T23:15:00Z", "2013-01-27T09:15:58Z", "2013-01-27T09:14:16Z"}  # of python-docx, python-pptx
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")  # Office's "Strict Open XML", which libraries cannot read
_ENCRYPTED = 0x1 | 0x40


def open_archive(data: bytes, suffix: str, limits: ParsingLimits) -> dict[str, bytes]:
    """The parts of a docx, pptx, xlsx or epub by name, in order; what holds no text (pictures, fonts) is emptied.

    Raises `FileRefused`: corrupt, encrypted, entries, part, ratio, nested, names, lying, entities, mismatch.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            end = archive.start_dir
    except (zipfile.BadZipFile, ValueError, OSError, struct.error, NotImplementedError) as error:
        raise FileRefused("corrupt", kind=suffix[1:].upper()) from error
    if len(infos) > limits.entries:
        raise FileRefused("entries", limit=limits.entries)
    members = [(info, _name(info)) for info in infos]
    _check_names([name for _, name in members])
    if any(info.flag_bits & _ENCRYPTED for info in infos):
        raise FileRefused("encrypted")
    _check_sizes(members, limits)
    found = _kind({name for _, name in members})
    if found != suffix:
        raise FileRefused("mismatch", suffix=suffix, found=found[1:].upper() if found else "ZIP")
    starts = _starts(data, infos, end)
    parts: dict[str, bytes] = {}
    for info, name in members:
        if info.is_dir():
            continue
        parts[name] = _part(data, info, starts[info.header_offset], name)
    if "META-INF/encryption.xml" in parts and b".xhtml" in parts["META-INF/encryption.xml"]:
        raise FileRefused("encrypted")
    return parts


def pack(parts: dict[str, bytes]) -> bytes:
    """The same parts as a plain archive, for libraries that want one."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _name(info: zipfile.ZipInfo) -> str:
    raw = info.orig_filename
    return raw if info.flag_bits & 0x800 else member_name(raw.encode("cp437", "replace"))


def _check_names(names: list[str]) -> None:
    plain = [name.replace("\\", "/").rstrip("/") for name in names]
    if len({name.casefold() for name in plain}) < len(plain):
        raise FileRefused("names")
    for name in plain:
        if not name or name.startswith("/") or "\0" in name or name[1:2] == ":" or ".." in name.split("/"):
            raise FileRefused("names")


def _check_sizes(members: list[tuple[zipfile.ZipInfo, str]], limits: ParsingLimits) -> None:
    """By what the directory claims; `_part` then holds every part to it. What holds no text is not unpacked."""
    textual = [info for info, name in members if _is_textual(name)]
    sizes = [info.file_size for info in textual]
    if any(length > limits.part for length in sizes) or sum(sizes) > limits.parts:
        raise FileRefused("part", limit=size(limits.part), total=size(limits.parts))
    if any(info.file_size > max(limits.ratio_from, limits.ratio * info.compress_size) for info in textual):
        raise FileRefused("ratio", limit=limits.ratio)


def _kind(names: set[str]) -> str:
    tops = {name.split("/", 1)[0] for name in names}
    for suffix, folder in _FOLDERS.items():
        if "[Content_Types].xml" in names and folder in tops:
            return suffix
    return ".epub" if "META-INF/container.xml" in names else ""


def _starts(data: bytes, infos: list[zipfile.ZipInfo], directory: int) -> dict[int, int]:
    """The offsets at which each part's bytes begin, by header offset. Parts may not overlap each other or the
    directory."""
    starts: dict[int, int] = {}
    following = directory
    for info in sorted(infos, key=lambda info: info.header_offset, reverse=True):
        header = data[info.header_offset : info.header_offset + 30]
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise FileRefused("lying")
        start = info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
        if start + info.compress_size > following:
            raise FileRefused("lying")
        starts[info.header_offset] = start
        following = info.header_offset
    return starts


def _part(data: bytes, info: zipfile.ZipInfo, start: int, name: str) -> bytes:
    packed = data[start : start + info.compress_size]
    if not _is_textual(name):
        _check_nested(name, info, packed)
        return b""
    content = _unpacked(info, packed)
    if b"<!ENTITY" in content or b"<!ENTITY" in content.replace(b"\0", b""):
        raise FileRefused("entities")
    return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", content)


def _check_nested(name: str, info: zipfile.ZipInfo, packed: bytes) -> None:
    path = PurePosixPath(name)
    if _ATTACHMENTS & {folder.lower() for folder in path.parts[:-1]}:
        return
    opening = packed[:8]
    if info.compress_type == zipfile.ZIP_DEFLATED:
        try:
            opening = zlib.decompressobj(-15).decompress(packed, 8)
        except zlib.error as error:
            raise FileRefused("lying") from error
    if path.suffix.lower() in _ARCHIVES or opening.startswith(_ARCHIVE_MAGIC):
        raise FileRefused("nested")


def _unpacked(info: zipfile.ZipInfo, packed: bytes) -> bytes:
    """Never more than the size the directory claims, whatever the stream holds."""
    if info.compress_type == zipfile.ZIP_STORED:
        content, whole = packed, True
    elif info.compress_type == zipfile.ZIP_DEFLATED:
        stream = zlib.decompressobj(-15)
        try:
            content = stream.decompress(packed, info.file_size + 1)
        except zlib.error as error:
            raise FileRefused("lying") from error
        whole = stream.eof
    else:
        raise FileRefused("lying")
    if not whole or len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise FileRefused("lying")
    return content


def _is_textual(name: str) -> bool:
    return name == "mimetype" or name.lower().endswith(_TEXTUAL)  # `_rels/.rels` has no suffix


def stated_by(parts: Mapping[str, bytes]) -> str:
    """The date that an office file's properties give its last change, else its beginning; empty where they are those of
    a library's template."""
    properties = parts.get("docProps/core.xml", b"").decode("utf-8", "replace")
    values = ((name, value) for name, value in _PROPERTY.findall(properties) if value not in _TEMPLATES)
    return stated(values)
