"""What only tests use is dead code: delete it, and let the tests use what production does."""

import tomllib
from pathlib import Path

import pytest

from unused import unused

pytestmark = pytest.mark.slow  # `make check` runs them
ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_name("unused.toml")

MADE_UP = {
    "__init__.py": """
        from toy.used import offered as presented
        __all__ = ["public"]
        def public(): return presented()
        """,
    "used.py": '''
        import toy.plugins
        from toy import helpers
        LIMIT = 3
        DEAD_LIMIT = 4
        def offered(): return helpers.helped(Shown().shown(), LIMIT) or getattr(Shown(), "by_name")
        def dead(): return helpers.only_of_dead() or dead()
        def mentioned(): """Calls `dead`; and dead() is what a docstring says."""
        def registered(): return [mentioned]
        @toy.plugins.GROUP.command("x")
        def by_decorator(): return registered()
        class Shown:
            def shown(self): return self._helper()
            def by_name(self): return 1
            def in_template(self): return 2
            def dead_method(self): return self.dead_method()
            def _helper(self): return 3
            def __len__(self): return 0
        class Dead:
            def method(self): return Dead()
        ''',
    "helpers.py": """
        from toy.plugins import same as other
        def helped(*given): return same(given)
        def only_of_dead(): return 1
        def same(given): return 1
        def by_entry_point(): return 2
        def kept_x(): return _of_kept()
        def _of_kept(): return 3
        """,
    "plugins.py": "GROUP = object()\ndef same(): return 'a text that says same, and Shown'\n",
    "page.html": "<p>dead_method {{ shown.in_template }}</p>",
}


def test_planted_dead_code_is_found_and_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / "toy"
    package.mkdir()
    for name, content in MADE_UP.items():
        lines = content.splitlines()
        (package / name).write_text("\n".join(line.removeprefix(" " * 8) for line in lines), encoding="utf-8")
    project = tmp_path / "pyproject.toml"
    project.write_text('[project.scripts]\ntoy = "toy.helpers:by_entry_point"\n', encoding="utf-8")
    found, needless = unused(package, project, ["toy.helpers.kept_*", "toy.helpers.helped", "toy.gone"])
    assert [(one.path.name, one.line, one.name.removeprefix("toy.")) for one in found] == [
        ("helpers.py", 4, "helpers.only_of_dead"),
        ("plugins.py", 2, "plugins.same"),
        ("used.py", 5, "used.DEAD_LIMIT"),
        ("used.py", 7, "used.dead"),
        ("used.py", 16, "used.Shown.dead_method"),
        ("used.py", 19, "used.Dead"),
    ]
    assert needless == ["toy.helpers.helped", "toy.gone"]


def test_production_uses_all_of_its_code() -> None:
    kept = tomllib.loads(KEPT.read_text(encoding="utf-8"))
    assert all(kept.values()), "every entry says why"
    found, needless = unused(ROOT / "src" / "viva", ROOT / "pyproject.toml", kept)
    assert not found, "nothing in src/ uses these; delete each, or say in tests/unused.toml what does:\n" + "\n".join(
        f"{one.path.relative_to(ROOT)}:{one.line}: {one.name}" for one in found
    )
    assert not needless, f"tests/unused.toml: delete what is no longer needed: {', '.join(needless)}"
