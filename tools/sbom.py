"""Software bill of materials (CycloneDX) of the package, its extras and its pages."""

import json
from base64 import b64decode
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata
from importlib.resources import files
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output.json import JsonV1Dot6
from jsonschema_rs import Registry, validator_for
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.audit.packages import NpmPackage, shipped_npm_packages
from tools.audit.rules import read_policy, read_record, spdx_licence
from tools.distributions import NAME
from tools.runtime_lock import Entry, read_project, runtime_entries

SCHEMAS = "http://cyclonedx.org/schema/"
"""The URLs of the schemas. The library includes the schemas, so nothing is downloaded."""

_licenses = LicenseFactory()

_NPM_HASHES = {"sha512": HashAlgorithm.SHA_512, "sha1": HashAlgorithm.SHA_1}


def render_sbom(version: str, epoch: str) -> str:
    """Return the bill of materials as JSON. The same lock and time give the same bytes.

    A component that only extras need is optional and names these extras.
    """
    root = Component(
        name=NAME,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=NAME,
        licenses=[_licenses.make_from_string("MIT")],
        purl=PackageURL("pypi", None, NAME, version),
    )
    extras = _extras_by_package()
    entries = runtime_entries(read_project().extras)
    components = {entry.name: _component(entry, extras[entry.name]) for entry in entries}
    bundled = [_npm_component(each) for each in shipped_npm_packages()]
    bom = Bom(
        components=[*components.values(), *bundled],
        metadata=BomMetaData(component=root, timestamp=datetime.fromtimestamp(int(epoch), UTC)),
        serial_number=uuid5(NAMESPACE_URL, f"pkg:pypi/{NAME}@{version}#{epoch}"),
    )
    declared = [components[name] for name in _declared() if name in components]
    bom.register_dependency(root, [*declared, *bundled])
    for name, component in components.items():
        bom.register_dependency(component, [components[each] for each in _needs(name, components)])
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _extras_by_package() -> dict[str, list[str]]:
    """Return the extras that require each package. Packages that are always needed have none."""
    project = read_project()
    always = {entry.name for entry in runtime_entries(())}
    brought: dict[str, list[str]] = {name: [] for name in always}
    for extra in project.extras:
        for entry in runtime_entries([extra]):
            if entry.name not in always:
                brought.setdefault(entry.name, []).append(extra)
    return brought


def _declared() -> set[str]:
    project = read_project()
    lists = [project.dependencies, *project.extras.values()]
    return {canonicalize_name(each.name) for each in (one for many in lists for one in many)}


def _component(entry: Entry, extras: list[str]) -> Component:
    properties = [Property(name="extra", value=each) for each in extras]
    if entry.marker is not None:
        properties.append(Property(name="marker", value=str(entry.marker)))
    return Component(
        name=entry.name,
        version=entry.version,
        bom_ref=entry.name,
        scope=ComponentScope.OPTIONAL if extras else ComponentScope.REQUIRED,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in entry.hashes],
        licenses=_license_of(f"pypi/{entry.name}", _declared_license(entry)),
        purl=PackageURL("pypi", None, entry.name, entry.version),
        properties=properties,
    )


def _declared_license(entry: Entry) -> str:
    return str(read_record()["pypi"][f"{entry.name}=={entry.version}"]["licence"])


def _npm_component(package: NpmPackage) -> Component:
    """Return a component for a package that is bundled into the scripts and styles of the pages."""
    scope, _, name = package.name.rpartition("/")
    algorithm, _, digest = package.integrity.partition("-")
    return Component(
        name=name,
        group=scope or None,
        version=package.version,
        bom_ref=f"npm/{package.name}@{package.version}",
        scope=ComponentScope.REQUIRED,
        hashes=[HashType(alg=_NPM_HASHES[algorithm], content=b64decode(digest).hex())],
        licenses=_license_of(f"npm/{package.name}", package.licence),
        purl=PackageURL("npm", scope or None, name, package.version),
    )


def _license_of(package: str, declared: str) -> list[License]:
    licence = spdx_licence(package, declared, read_policy())
    return [_licenses.make_from_string(licence)] if licence else []


def _needs(name: str, components: dict[str, Component]) -> list[str]:
    try:
        lines = metadata(name).get_all("Requires-Dist") or []
    except PackageNotFoundError:
        return []
    parsed = [Requirement(line) for line in lines]
    named = {canonicalize_name(each.name) for each in parsed if "extra" not in str(each.marker)}
    return sorted(named & components.keys())


def sbom_problems(text: str, entries: list[Entry]) -> list[str]:
    """Return violations of the CycloneDX schema, and differences between the bill and the lock."""
    bill = json.loads(text)
    folder = files("cyclonedx.schema") / "_res"
    schemas = {
        f"{SCHEMAS}{name}": json.loads((folder / name).read_text("utf-8"))
        for name in ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")
    }
    schema = json.loads((folder / "bom-1.6.SNAPSHOT.schema.json").read_text("utf-8"))
    validator = validator_for(schema, registry=Registry(list(schemas.items())))
    problems = [
        f"The SBOM breaks its schema: {each.message}" for each in validator.iter_errors(bill)
    ]
    listed = {
        (each["name"], each["version"], one["content"])
        for each in bill["components"]
        if each["purl"].startswith("pkg:pypi/")
        for one in each.get("hashes", [])
    }
    locked = {(entry.name, entry.version, one) for entry in entries for one in entry.hashes}
    differing = sorted({f"{name} {version}" for name, version, _ in listed ^ locked})
    if differing:
        problems.append(f"The SBOM and the lock differ: {', '.join(differing)}.")
    return problems
