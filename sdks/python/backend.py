"""Builds the wheel of the SDK. pip loads it from this folder, so that it fetches no build tools: installing works offline."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Mapping, Optional

root = Path(__file__).parent
_version = re.search(r'^__version__ = "(.+)"$', (root / "skillbox/__init__.py").read_text(), re.M)
if _version is None:
    raise RuntimeError("skillbox/__init__.py has no __version__.")
version = _version.group(1)
name = f"skillbox-{version}"

metadata = f"""Metadata-Version: 2.1
Name: skillbox
Version: {version}
Summary: The Python SDK of Skillbox, the self-hosted box that AI agents live in.
License: MIT
Requires-Python: >=3.9
Provides-Extra: langchain
Requires-Dist: langchain-core (>=0.3,<2) ; extra == 'langchain'
Description-Content-Type: text/markdown

{(root / "README.md").read_text()}"""

wheel = "Wheel-Version: 1.0\nGenerator: skillbox\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(wheel_directory: str, config_settings: Optional[Mapping[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    files = {f"skillbox/{path.name}": path.read_bytes() for path in sorted((root / "skillbox").iterdir()) if path.suffix in (".py", ".typed")}
    return _write_wheel(wheel_directory, files)


def build_editable(wheel_directory: str, config_settings: Optional[Mapping[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(wheel_directory, {"skillbox.pth": f"{root}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Optional[Mapping[str, Any]] = None) -> str:
    paths = [*(root / "skillbox").glob("*.py"), root / "skillbox/py.typed", root / "backend.py", root / "pyproject.toml", root / "README.md"]
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for path in sorted(paths):
            archive.add(path, f"{name}/{path.relative_to(root).as_posix()}")
        info = tarfile.TarInfo(f"{name}/PKG-INFO")
        info.size = len(metadata.encode())
        archive.addfile(info, io.BytesIO(metadata.encode()))
    return f"{name}.tar.gz"


def _write_wheel(folder: str, files: Mapping[str, bytes]) -> str:
    about = f"{name}.dist-info"
    whole = {**files, f"{about}/METADATA": metadata.encode(), f"{about}/WHEEL": wheel.encode()}
    record = "".join(f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in whole.items())
    whole[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    file = f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in whole.items():
            archive.writestr(path, content)
    return file


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
