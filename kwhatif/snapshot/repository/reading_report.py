"""Options for reading manifests, and the report of what was skipped, rendered or unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.errors import InputError
from kwhatif.snapshot.read.other_documents import DocumentSort
from kwhatif.snapshot.repository.argo_clusters import ArgoCluster
from kwhatif.snapshot.repository.chart_library import ChartLibrary
from kwhatif.snapshot.repository.file_account import ARROW, FileAccount, FileUse
from kwhatif.snapshot.repository.substitutions import EncryptedValue, SubstitutionRoom

_MOST_LINES = 3


@dataclass(frozen=True)
class ReadingOptions:
    """How manifests are read: what of directories is left out (``exclude``, patterns), and whether that may be all.

    Directories of git's revisions are read with those below them, unless not ``recursive``; others are named each.
    ``variables`` are those that Flux substitutes. ``render``: kustomizations and charts are rendered ``never``,
    ``always``, or where that needs nothing that is not there (``auto``), charts for ``kubernetes_version`` if it is
    said. ``roots`` are directories of which the account has all files, ``namespaced`` custom kinds (group and name)
    whose objects live in namespaces. YAML ``is_sent_as_it_is`` where the API server reads it, which refuses a key that
    appears twice; kubectl, which makes JSON of it, takes the last. ``clusters`` are those that Argo CD knows, where
    that is said, and ``charts`` directories with those that somebody has pulled.
    """

    exclude: Sequence[str] = ()
    may_be_empty: bool = False
    recursive: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)
    render: str = "never"
    kubernetes_version: str = ""
    roots: Sequence[str] = ()
    namespaced: Collection[tuple[str, str]] = frozenset()
    is_sent_as_it_is: bool = False
    clusters: Sequence[ArgoCluster] | None = None
    charts: ChartLibrary = field(default_factory=ChartLibrary)
    printed: dict[bytes, bytes] = field(default_factory=dict)


@dataclass
class MissingVariables:
    """Variables of a file without a value: ``named`` are left as they are written; objects with ``unknown`` are
    ``left_out``.

    ``content`` is the file's.
    """

    content: bytes = b""
    named: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)


@dataclass
class ReadingReport:
    """What was skipped, rendered, followed or unknown when manifests were read.

    ``passed_over`` has the places of documents that are no objects, by sort, ``encrypted`` those of Secrets encrypted
    with SOPS, ``missing`` the Flux variables without a value, by file. ``built`` and ``rendered`` count kustomizations
    and charts; ``not_rendered`` has the reason why others were not, by their names in messages. ``followed`` counts
    objects of Argo CD and Flux that were replaced by what they deploy, ``not_followed`` the others by reason and kind,
    ``absent_charts`` has who deploys charts that are somewhere else, by the command that pulls each, and ``lost`` has
    requested things that were not found. ``assumed`` has who deploys files of sources that are taken for this
    repository though no file says so. ``unreadable`` is what is wrong with files, documents and objects of directories,
    of which the others are read. ``documents`` are those of files named explicitly,
    ``duplicates`` are keys of YAML that appear twice, ``room`` counts what variables put into objects, and ``files`` is
    the account of all files.
    """

    passed_over: dict[DocumentSort, list[str]] = field(default_factory=dict)
    built: int = 0
    rendered: int = 0
    not_rendered: dict[str, str] = field(default_factory=dict)
    encrypted: list[str] = field(default_factory=list)
    missing: dict[str, MissingVariables] = field(default_factory=dict)
    followed: Counter[str] = field(default_factory=Counter)
    not_followed: dict[str, Counter[str]] = field(default_factory=dict)
    lost: dict[str, list[str]] = field(default_factory=dict)
    assumed: dict[str, list[str]] = field(default_factory=dict)
    absent_charts: dict[str, list[str]] = field(default_factory=dict)
    unreadable: list[InputError] = field(default_factory=list)
    documents: int = 0
    duplicates: list[str] = field(default_factory=list)
    room: SubstitutionRoom = field(default_factory=SubstitutionRoom)
    files: FileAccount = field(default_factory=FileAccount)

    def pass_over(self, sort: DocumentSort, place: str) -> None:
        """Count a document that is no object."""
        self.passed_over.setdefault(sort, []).append(place)

    def leave_out(self, error: InputError, file: str) -> None:
        """Keep what is wrong with a part of a file, whose other parts are read."""
        self.unreadable.append(error)
        self.files.fail(file, problem_in(file, error))

    def note_encrypted(self, value: EncryptedValue, taker: str) -> None:
        """Keep that an object takes a value that nobody can read: if the value changes, so does the object."""
        why = f"SOPS has encrypted it, and {taker} takes it"
        self.files.note(f"{value.file}{ARROW}{value.key}", FileUse.opaque, why, lambda: value.cipher)

    def leave_out_known(self, before: ReadingReport) -> None:
        """Forget what was not known of files that are as they were ``before``: it says nothing of a change.

        What was left out of files that are gone is not known to be gone.
        """
        known = {missing.content for missing in before.missing.values()}
        contents = {missing.content for missing in self.missing.values()}
        places = {_place_in(file) for file in self.missing}
        gone = {
            file: missing_variables
            for file, missing_variables in before.missing.items()
            if missing_variables.left_out
            and missing_variables.content not in contents
            and _place_in(file) not in places
        }
        self.missing = {file: reason for file, reason in self.missing.items() if reason.content not in known} | gone
        owners = {_place_in(owner) for who in self.absent_charts.values() for owner in who}
        charts: dict[str, list[str]] = {}
        for call, who in self.absent_charts.items():
            there = set(map(_place_in, before.absent_charts.get(call, ())))
            charts[call] = [owner for owner in who if _place_in(owner) not in there]
        for call, who in before.absent_charts.items():
            # What a release that is gone takes with it is not known either.
            charts.setdefault(call, []).extend(owner for owner in who if _place_in(owner) not in owners)
        self.absent_charts = {call: who for call, who in charts.items() if who}
        self.assumed = {source: who for source, who in self.assumed.items() if source not in before.assumed}
        self.lost = {owner: fields for owner, fields in self.lost.items() if before.lost.get(owner) != fields}

    def notes(self) -> Iterator[str]:
        """Each thing worth knowing, in one line."""
        if self.passed_over:
            sorts = sorted(self.passed_over.items(), key=lambda entry: (-len(entry[1]), entry[0].name))
            counts = ", ".join(sort.count(len(places)) for sort, places in sorts)
            yield f"passed over in directories, as no objects of a cluster: {counts}"
        if self.built:
            yield f"{self.built} {'kustomization was' if self.built == 1 else 'kustomizations were'} built"
        if self.rendered:
            yield f"{self.rendered} {'chart was' if self.rendered == 1 else 'charts were'} rendered by helm"
        yield from _some([f"{name} was not rendered: {problem}" for name, problem in self.not_rendered.items()])
        if self.followed:
            verb = "was" if self.followed.total() == 1 else "were"
            yield f"{_counts(self.followed)} {verb} followed to directories of this repository"
        if self.not_followed:
            reasons = [f"{_counts(kinds)} ({reason})" for reason, kinds in self.not_followed.items()]
            yield f"not followed: {', '.join(reasons)}"
        if self.encrypted:
            number = len(self.encrypted)
            what = "Secret is encrypted" if number == 1 else "Secrets are encrypted"
            yield f"{number} {what} by SOPS: what {'it holds' if number == 1 else 'they hold'} is not known"

    def gaps(self) -> Iterator[tuple[str, str]]:
        """What is not known of the manifests, by file or owner, and what follows."""
        files: dict[tuple[str, ...], list[str]] = {}
        for file, missing in self.missing.items():
            files.setdefault(tuple(sorted({*missing.named, *missing.unknown})), []).append(file)
        for names, (first, *others) in files.items():
            options = " ".join(f"--var {name}=..." for name in names)
            where = f"{first} and {len(others)} more" if others else first
            left_out = [reason for file in (first, *others) for reason in self.missing[file].left_out]
            effects = []
            if left_out:
                effects.append(f"{_some_of(left_out)} {'is' if len(left_out) == 1 else 'are'} left out")
            if any(self.missing[file].named for file in (first, *others)):
                effects.append("in names and labels their own names stand for variables")
            yield f"{where}: Flux substitutes {', '.join(names)}; give {options}", "; ".join(effects)
        for source, deployers in self.assumed.items():
            what = f"{source} is taken for this repository, which no file says: that of {_some_of(deployers)}"
            yield what, "what is deployed may come from elsewhere"
        owners: dict[tuple[str, ...], list[str]] = {}
        for owner, fields in self.lost.items():
            owners.setdefault(tuple(fields), []).append(owner)
        for wanted, (first, *more) in owners.items():
            who = f"{first} and {len(more)} more ask" if more else f"{first} asks"
            yield f"{who} for {', '.join(wanted)}", f"{'their' if more else 'its'} objects are judged without"


def problem_in(file: str, error: InputError) -> str:
    """An error about a part of a file, without the file's name."""
    return str(error).removeprefix(file).lstrip(": ")


def _counts(kinds: Mapping[str, int]) -> str:
    """``2 Applications and 1 HelmRelease``."""
    texts = [f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in sorted(kinds.items())]
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _place_in(file: str) -> str:
    """A place in a file without the revision that this one is of."""
    return file.rpartition(":")[2]


def _some_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LINES} more" if len(names) > _MOST_LINES else ""
    return ", ".join(names[:_MOST_LINES]) + more


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"{len(lines) - _MOST_LINES} more were not rendered"
