"""The list of what a program is made of (SBOM), as CycloneDX 1.5 in JSON: from cargo's tree and Cargo.lock."""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import tomllib
import uuid

from packing.kinds import ROOT, version

# The program, and the libraries that it carries or that lie beside it in a wheel.
PACKED = ("opscope",)
PACKED_ON_LINUX = (*PACKED, "opscope-python", "opscope-mark", "opscope-preload")


def describe(flavour, target, program, compiler, moment, linked):
    """The bytes of the list for one program, given as bytes; `linked` is what its linker added."""
    required = tree(flavour, target, "normal,no-proc-macro")
    built_with = tree(flavour, target, "normal,build") - required
    known = metadata(flavour, target)
    checksums = lock()
    components = [
        component(known[crate], checksums.get(crate), "required" if crate in required else "excluded")
        for crate in sorted(required | built_with)
        if crate != ("opscope", version())
    ]
    components += others(known, compiler, linked)
    subject = {
        "type": "application",
        "bom-ref": f"opscope@{version()}",
        "name": "opscope",
        "version": version(),
        "description": f"for {target.triple}, {flavour.summary}",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(program).hexdigest()}],
    }
    told = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": "",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": "release/build"}]},
            "component": subject,
            "properties": [{"name": "opscope:compiler", "value": compiler}],
        },
        "components": components,
        "dependencies": edges(known, required | built_with),
    }
    # A number that follows from the content: the same program has the same list.
    told["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(told, sort_keys=True)).urn
    return (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode()


def tree(flavour, target, kinds):
    """Names and versions of all crates that the packed ones need, by the kinds of their need."""
    found = set()
    for package in PACKED_ON_LINUX if target.is_linux else PACKED:
        features = flavour.features if package == "opscope" else ()
        asked = ["cargo", "tree", "--locked", "-p", package, "-e", kinds, "--target", target.triple,
                 "--prefix", "none", "--format", "{p}", *features]
        told = subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        found.update(re.findall(r"^(\S+) v(\S+)", told, re.MULTILINE))
    return found


def metadata(flavour, target):
    """What cargo knows of each crate, by name and version."""
    # Build scripts run here, so what they need is that of this system.
    platforms = [word for triple in (target.triple, host()) for word in ("--filter-platform", triple)]
    asked = ["cargo", "metadata", "--format-version", "1", "--locked", *platforms, *flavour.features]
    told = json.loads(subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    names = {package["id"]: (package["name"], package["version"]) for package in told["packages"]}
    known = {names[package["id"]]: package for package in told["packages"]}
    for node in told["resolve"]["nodes"]:
        wanted = [it["pkg"] for it in node["deps"] if any(kind["kind"] in (None, "build") for kind in it["dep_kinds"])]
        known[names[node["id"]]]["needs"] = sorted(names[package] for package in wanted)
    return known


def host():
    """The system and the processor that this machine's compiler runs on."""
    told = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.search(r"^host: (.+)$", told, re.MULTILINE).group(1)


def lock():
    """The checksums of the registry's crates by name and version."""
    content = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(package["name"], package["version"]): package.get("checksum") for package in content["package"]}


def component(package, checksum, scope):
    name, number = package["name"], package["version"]
    told = {"type": "library", "bom-ref": f"{name}@{number}", "name": name, "version": number, "scope": scope}
    if checksum:
        told["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        told["purl"] = f"pkg:cargo/{name}@{number.replace('+', '%2B')}"
    if package["license"]:
        # Old manifests have a stroke between alternatives.
        told["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    elif package["license_file"]:
        told["licenses"] = [{"license": {"name": package["license_file"]}}]
    if package["repository"] and package["repository"].startswith("http"):
        told["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return told


def others(known, compiler, linked):
    """What is in the program and no crate of cargo's."""
    numbers = dict(known)
    sqlite = pathlib.Path(numbers[library_of_sqlite(numbers)]["manifest_path"]).parent / "sqlite3" / "sqlite3.h"
    number = re.search(r'^#define SQLITE_VERSION\s+"(.+)"', sqlite.read_text(encoding="utf-8"), re.MULTILINE).group(1)
    told = [("sqlite", number, "blessing"), ("rust-std", compiler.removeprefix("rustc "), "MIT OR Apache-2.0"), *linked]
    return [
        {"type": "library", "bom-ref": f"{name}@{number}", "name": name, "version": number, "scope": "required",
         "licenses": [{"expression": licence}]}
        for name, number, licence in told
    ]


def library_of_sqlite(known):
    return next(crate for crate in known if crate[0] == "libsqlite3-sys")


def edges(known, crates):
    """Which crate needs which, of those that are listed."""
    return [
        {"ref": f"{name}@{number}",
         "dependsOn": [f"{other}@{its}" for other, its in known[name, number].get("needs", []) if (other, its) in crates]}
        for name, number in sorted(crates)
    ]
