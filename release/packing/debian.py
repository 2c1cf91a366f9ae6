"""The package for Debian and its relatives, made by `dpkg-deb`."""

import os
import shutil
import subprocess
import tempfile
import pathlib

from packing import archives, contents, programs
from packing.kinds import FLAVOURS, debian_package, version

# The words that Debian's own packages have for the licences.
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: opscope

Files: *
Copyright: the authors of opscope
License: MIT or Apache-2.0
Comment: Code of others that is built in stands in THIRD-PARTY.md.gz beside this file.

License: MIT
{mit}

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.
"""


def files(inside, package):
    """The package's files by their paths, from those of an archive (`release/build` has their names)."""
    documents = f"usr/share/doc/{package}"
    placed = {
        "usr/bin/opscope": inside["opscope"],
        "usr/share/bash-completion/completions/opscope": inside["completions/opscope.bash"],
        "usr/share/zsh/vendor-completions/_opscope": inside["completions/_opscope"],
        "usr/share/fish/vendor_completions.d/opscope.fish": inside["completions/opscope.fish"],
    }
    for name, (content, _) in inside.items():
        if name.startswith("man/"):
            placed[f"usr/share/man/man1/{name.removeprefix('man/')}.gz"] = (content, False)
        elif name == "CHANGELOG.md":
            placed[f"{documents}/changelog.gz"] = (content, False)
        elif name == "THIRD-PARTY.md":
            placed[f"{documents}/{name}.gz"] = (content, False)
        elif name.endswith(".md"):
            placed[f"{documents}/{name}"] = (content, False)
    licence = "\n".join(f" {line}" if line.strip() else " ." for line in inside["LICENSE-MIT"][0].decode().splitlines())
    placed[f"{documents}/copyright"] = (COPYRIGHT.format(mit=licence).encode(), False)
    return placed


def control(flavour, target, program, size):
    """The package's description; `size` is what it takes when installed, in KiB."""
    others = [debian_package(other) for other in FLAVOURS.values() if other != flavour]
    glibc = ".".join(map(str, programs.newest_glibc(program)))
    provided = "" if not flavour.suffix else "Provides: opscope\n"
    return (
        f"Package: {debian_package(flavour)}\nVersion: {version()}\nArchitecture: {target.debian}\n"
        "Maintainer: The authors of opscope\nSection: devel\nPriority: optional\n"
        f"Installed-Size: {size}\nDepends: libc6 (>= {glibc})\n{provided}"
        f"Conflicts: {', '.join(others)}\nReplaces: {', '.join(others)}\n"
        "Description: finds out why a neural network runs slowly\n"
        " Reads profiles of inference engines and accelerators, and tells which operator\n"
        " costs the time, what it computes and moves, and what could be saved.\n"
        f" This is the program {flavour.summary}.\n"
    )


def pack(path, flavour, target, inside, moment):
    """Writes the package of an archive's files to a path."""
    if not shutil.which("dpkg-deb"):
        return False
    placed = files(inside, debian_package(flavour))
    size = -(-sum(len(content) for content, _ in placed.values()) // 1024)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "package"
        for name, (content, is_program) in placed.items():
            place = root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(archives.gzipped(content, moment) if name.endswith(".gz") else content)
            place.chmod(0o755 if is_program else 0o644)
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN" / "control").write_text(control(flavour, target, inside["opscope"][0], size), encoding="utf-8")
        (root / "DEBIAN" / "control").chmod(0o644)
        for place in [root, *root.rglob("*")]:
            if place.is_dir():
                place.chmod(0o755)
            os.utime(place, (moment, moment))
        # Old releases of Debian know xz, and not zstd; one thread, because several cut the stream by their number.
        asked = ["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", root, path]
        subprocess.run(asked, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(moment)})
    return True
