"""Croissant metadata (1.0) of a data set: a machine-readable description of its tables.

https://docs.mlcommons.org/croissant/docs/croissant-spec.html. Columns that are lists of records (turns, judges'
replies) are described in the card alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viva.interop.writing.card import Card
from viva.interop.writing.runrecords import created
from viva.interop.writing.safetext import clean, pretty
from viva.interop.writing.tables import Column, Kind
from viva.version import __version__
from viva.visible import one_line

_DATA_TYPES: dict[Kind, str] = {
    "text": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "moment": "sc:DateTime",
    "texts": "sc:Text",
    "numbers": "sc:Float",
}
_TERMS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)


def _context() -> dict[str, Any]:
    """Return the vocabulary, as the specification gives it."""
    return {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        **{term: f"cr:{term}" for term in _TERMS},
    }


def croissant_text(card: Card) -> bytes:
    """Return the whole croissant.json."""
    warnings = " ".join(warning[:1].upper() + warning[1:] for warning in card.warnings())
    described = f"{card.title}. Written by Viva {__version__}. {warnings}".strip()
    content: dict[str, Any] = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": card.title,
        "description": described,
        "license": [licence.url for licence in card.licences],
        "url": next(
            (each_set.about.source for each_set in card.sets if each_set.about.source.startswith("https://")), _HOME
        ),
        "version": f"{_VERSION}",
        "inLanguage": list(dict.fromkeys(each_set.language for each_set in card.sets)),
        "citeAs": "; ".join(
            dict.fromkeys(one_line(f"{each_set.about.title}, {each_set.about.paper}", 300) for each_set in card.sets)
        ),
        "distribution": [
            {
                "@type": "cr:FileSet",
                "@id": f"{subset.name}-files",
                "name": f"{subset.name}-files",
                "description": f"The shards of {subset.name}.",
                "encodingFormat": "application/x-parquet",
                "includes": f"{subset.name}/*.parquet",
            }
            for subset in card.subsets
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": subset.name,
                "name": subset.name,
                "description": f"{subset.rows:,} rows.",
                "field": list(_fields(subset.name, subset.columns)),
            }
            for subset in card.subsets
        ],
    }
    if card.evaluations:
        content["datePublished"] = max(created(evaluation.record) for evaluation in card.evaluations).date().isoformat()
    return pretty(content)


_VERSION = "1.0.0"
_HOME = "https://pypi.org/project/viva/"


def _fields(name: str, columns: tuple[Column, ...]) -> Iterator[dict[str, Any]]:
    for column in columns:
        if column.kind not in _DATA_TYPES:
            continue
        field: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{name}/{clean(column.name)}",
            "name": f"{name}/{clean(column.name)}",
            "description": column.about,
            "dataType": _DATA_TYPES[column.kind],
            "source": {"fileSet": {"@id": f"{name}-files"}, "extract": {"column": clean(column.name)}},
        }
        if column.kind in ("texts", "numbers"):
            field["repeated"] = True
        yield field
