"""The papers' own tables: typed, with sources and contradictions.

    tables("csbench")                    every table of a benchmark
    table("syneval", "few_shot")         one; its `notes` say what is odd about it
    neighbours(spec)                     published rows comparable with an exam of these settings, and what differs
    published_rows(neighbours(spec), "nearest", score, model)
    size("Mixtral-8x7B")                 46.7 billion parameters, of which 12.9 are active
    about("cmmlu"), bibtex("cmmlu")      the paper

Every figure is as its paper or its authors print it. `catalogue.toml` describes the tables.
"""

from viva.published.catalogue import Figure, about, bibtex, catalogue, table, tables
from viva.published.neighbours import NEAREST, NONE, neighbours, published_rows
from viva.published.printed import (
    SAMPLING,
    Column,
    Entry,
    Kind,
    Neighbour,
    Size,
    Source,
    Table,
    called,
    find,
    plain,
    share,
    similar,
    size,
)

__all__ = [
    "NEAREST",
    "NONE",
    "SAMPLING",
    "Column",
    "Entry",
    "Figure",
    "Kind",
    "Neighbour",
    "Size",
    "Source",
    "Table",
    "about",
    "bibtex",
    "called",
    "catalogue",
    "find",
    "neighbours",
    "plain",
    "published_rows",
    "share",
    "similar",
    "size",
    "table",
    "tables",
]
