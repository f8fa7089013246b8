"""Pages of the site that are made of files outside docs/: the READMEs, the changelog, and the help of the commands.

A link from one such file to another becomes one between pages; what no page shows (sources, results) is named as text.
Formulas become MathML, which browsers show by themselves.
"""

from __future__ import annotations

import argparse
import html
import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
# page of the site: the file that it is made of
PAGES = {
    "index.md": "README.md",
    "tasks.md": "envs/README.md",
    "measuring.md": "bench/README.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
# folders of pictures that such files show, and where they are on the site
PICTURES = {"envs/pictures": "pictures/envs", "bench/results": "pictures/bench"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
# a formula as pymdownx.arithmatex leaves it; and one in a paragraph of a notebook
FORMULA = re.compile(r'<(?:span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</(?:span|div)>', re.DOTALL)
PARAGRAPH, DOLLARS = re.compile(r"<p>.*?</p>", re.DOTALL), re.compile(r"\$([^$]+)\$")
LOG = logging.getLogger("mkdocs.hooks")


def place_of(path: str) -> str | None:
    """Where a file of the repository is on the site; None where it is not."""
    for page, source in PAGES.items():
        if path == source:
            return page
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    for folder, on_site in PICTURES.items():
        if posixpath.dirname(path) == folder and path.endswith((".png", ".gif")):
            return f"{on_site}/{posixpath.basename(path)}"
    return None


def with_links_of_the_site(text: str, source: str, page: str = "") -> str:
    """The text of a file with its links as they lead on the site, from the page that it is there."""

    def replaced(found: re.Match[str]) -> str:
        picture, shown, target, part = found[1], found[2], found[3], found[4] or ""
        if "://" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"{source} links to '{target}', and there is no such file")
        place = place_of(path)
        if place is None:
            return f"`{shown}`" if "`" not in shown else shown
        return f"{picture}[{shown}]({posixpath.relpath(place, posixpath.dirname(page) or '.')}{part})"

    return LINK.sub(replaced, text)


def named(nav: Any) -> set[str]:
    """The pages of a navigation."""
    if isinstance(nav, str):
        return {nav}
    entries = nav.values() if isinstance(nav, dict) else nav
    return {page for entry in entries for page in named(entry)}


def on_config(config: Any) -> Any:
    """Pages that mkdocs.yml does not name yet come last, under "More"."""
    more = sorted({path.name for path in (ROOT / "docs").glob("*.md")} - named(config.nav))
    if more:
        config.nav = [*config.nav, {"More": more}]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds these pages and pictures."""
    for page, source in PAGES.items():
        text = (ROOT / source).read_text()
        files.append(File.generated(config, page, content=with_links_of_the_site(text, source)))
    for folder, on_site in PICTURES.items():
        for picture in sorted((ROOT / folder).glob("*.png")):
            name = f"{on_site}/{picture.name}"
            files.append(File.generated(config, name, content=picture.read_bytes()))
    files.append(File.generated(config, "api/cli.md", content=command_line()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Pages of docs/ link to files as these lie in the repository."""
    name = page.file.src_uri
    source = f"docs/{name}"
    # pages that are made here have such links already, and notebooks none
    if name.endswith(".md") and (ROOT / source).exists():
        return with_links_of_the_site(markdown, source, name)
    return markdown


def mathml(formula: str, display: str, page: str) -> str:
    text = html.unescape(formula).replace(r"\arg\min", r"\operatorname{arg\,min}")
    made = convert(text, display=display)
    if left := re.search(r"\\[a-zA-Z]+", made):
        LOG.warning("%s: %s of the formula '%s' has no MathML", page, left[0], text)
    return made


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Formulas as MathML."""
    name = page.file.src_uri

    def inline(found: re.Match[str]) -> str:
        return DOLLARS.sub(lambda formula: mathml(formula[1], "inline", name), found[0])

    if name.endswith(".ipynb"):
        return PARAGRAPH.sub(inline, content)
    return FORMULA.sub(lambda found: mathml(found[2], "inline" if found[1] == "(" else "block", name), content)


def command_line() -> str:
    """The help of every command, as the parser tells it."""
    try:
        from dualstep.cli import COMMANDS, build_parser
    except ImportError as error:
        raise SystemExit(f"the site shows the help of dualstep's commands, and it cannot be imported: {error}") from None

    lines = ["# Command line", "", "`python -m dualstep` and `dualstep` are the same.", ""]
    for name, what in COMMANDS.items():
        parser = build_parser(name)
        commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        command = commands.choices[name]
        command.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100)
        lines += [f"## dualstep {name}", "", what[0].upper() + what[1:] + ".", "", "```text", command.format_help().strip(), "```", ""]
    return "\n".join(lines)
