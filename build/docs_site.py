"""What `mkdocs.yml` does to the pages of docs/: it adds the changelog, and files that pages link to.

Pages link to sources and to the README as they lie in the repository. In the site the README is the
start page, and any other file outside docs/ is copied beside the pages, as plain text.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = "changelog.md"
PAGES = {ROOT / "README.md": "index.md", ROOT / "CHANGELOG.md": CHANGELOG}
LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]+)(#[^)\s]*)?\)")
DOCTEST = re.compile(r'\s*<span class="c1"># doctest: [^<]*</span>')
BLOCK = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the changelog, which lies beside docs/."""
    files.append(File.generated(config, CHANGELOG, abs_src_path=str(ROOT / "CHANGELOG.md")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links that leave docs/ into links of the site."""
    here = Path(str(page.file.abs_src_path)).parent
    docs = Path(config.docs_dir)

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(here / found[1]))
        if target.is_relative_to(docs) and here.is_relative_to(docs):
            return found[0]
        uri = _uri(target, docs, config, files)
        relative = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
        return f"]({relative}{found[2] or ''})"

    parts = BLOCK.split(markdown)
    # Every second part is a block of code.
    return "".join(part if n % 2 else LINK.sub(link, part) for n, part in enumerate(parts))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leaves out what an example in a docstring says to its test only."""
    return DOCTEST.sub("", html)


def _uri(target: Path, docs: Path, config: MkDocsConfig, files: Files) -> str:
    if target in PAGES:
        return PAGES[target]
    if target.is_relative_to(docs):
        return target.relative_to(docs).as_posix()
    uri = f"source/{target.relative_to(ROOT).as_posix()}"
    uri = uri if uri.endswith(".txt") else f"{uri}.txt"
    if target.is_file() and uri not in files.src_uris:
        files.append(File.generated(config, uri, abs_src_path=str(target)))
    return uri
