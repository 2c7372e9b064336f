"""Formats that a library reads, a module for each, so that a process imports no library but those of its files.

MarkItDown's packages import the libraries of all formats as their own first step (a second of processor time), and
magika to guess types, which starts onnxruntime (30 MB). So they are here without their code; what is needed of them is
imported from its module.
"""

import sys
from importlib.util import find_spec, module_from_spec

for _package in ("markitdown", "markitdown.converters"):
    if _package not in sys.modules and (_spec := find_spec(_package)):
        sys.modules[_package] = module_from_spec(_spec)
