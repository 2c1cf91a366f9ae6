"""What every package of a program holds besides it: texts, licences, completions and the manual."""

import os
import pathlib
import re
import subprocess
import sys

from packing.kinds import ROOT

# The shells, and the name under which each looks for the completions of `opscope`.
SHELLS = {"bash": "opscope.bash", "zsh": "_opscope", "fish": "opscope.fish", "powershell": "opscope.ps1"}
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")
TEXTS = ("CHANGELOG.md", "README.md", "README.zh.md", "SECURITY.md")


def texts():
    """The documents by their names; those that README.md leads to lie where it says."""
    paths = [ROOT / name for name in (*LICENCES, *TEXTS)] + sorted((ROOT / "docs").glob("*.md"))
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in paths}


def notices(flavour, target):
    """The notices of all that is built into one program."""
    asked = [ROOT / ".ci" / "third-party", *flavour.features, "--filter-platform", target.triple]
    return subprocess.run(asked, check=True, stdout=subprocess.PIPE).stdout


def completions(words):
    """The scripts of shells by their names, printed by the program that `words` start."""
    return {name: printed([*words, "completions", shell]) for shell, name in SHELLS.items()}


def manual(words):
    """The pages of the manual by their names: the program's own, and one of each command that it lists."""
    first = printed([*words, "man"])
    commands = sorted(set(re.findall(r"^opscope\\-([\w\\-]+)\(1\)", first.decode(), re.MULTILINE)))
    commands = [command.replace("\\", "") for command in commands if command != "help"]
    if len(commands) < 10:
        sys.exit(f"the manual lists {len(commands)} commands only; its layout may have changed")
    pages = {"opscope.1": first}
    for command in commands:
        pages[f"opscope-{command}.1"] = printed([*words, "man", command])
    return pages


def printed(command):
    # Scripts and pages are made in one language, whatever the builder speaks.
    environment = os.environ | {"OPSCOPE_LANG": "en"}
    content = subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, env=environment).stdout
    if not content.strip():
        sys.exit(f"{pathlib.Path(command[0]).name} {' '.join(map(str, command[1:]))} printed nothing")
    return content
