"""From names to pseudonyms, word by word, and in CEL expressions about devices.

Most names are composed of others: a pod's of its owner's, a claim's of a pod's and a volume's. So they are split at
everything that is no letter or digit, each word is replaced, and the separators stay. All of them go through one list
of words whose codes are in the order of the words: the names keep their order, also when joined to ``namespace/name``,
and a name that is part of another one stays part of it.

Upstream: dynamic-resource-allocation/cel/compile.go (the variables of an expression) and apiserver/pkg/cel/library.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections import defaultdict
from collections.abc import Callable

from kwhatif.api.selectors import is_label_key, is_label_value
from kwhatif.redaction import well_known_names as wellknown
from kwhatif.redaction.translation import OrderedCodes, Translation

CEL_WORDS = frozenset(
    {
        *("add", "all", "allowMultipleAllocations", "asApproximateFloat", "asInteger", "attributes", "bind", "bool"),
        *("capacity", "cel", "compareTo", "contains", "device", "double", "driver", "dyn", "e", "endsWith", "exists"),
        *("existsOne", "exists_one", "false", "filter", "find", "findAll", "format", "has", "hasValue", "in"),
        *("includes", "indexOf", "int", "isGreaterThan", "isInteger", "isLessThan", "isQuantity", "isSemver"),
        *("isSorted", "join", "lastIndexOf", "list", "lowerAscii", "major", "map", "matches", "max", "min", "minor"),
        *("none", "null", "of", "ofNonZeroValue", "optFlatMap", "optMap", "optional", "or", "orValue", "patch"),
        *("quantity", "replace", "semver", "sign", "size", "split", "startsWith", "string", "sub", "substring", "sum"),
        *("transformList", "transformMap", "trim", "true", "type", "uint", "upperAscii", "value"),
    }
)
"""What names mean to an expression about devices; attributes that are called like this keep their names, too."""

# A text that a function makes a quantity or a version of; any other text, with what stands around it; or a word.
_TOKEN = re.compile(
    r"""\b(?P<measure>(?:isQuantity|isSemver|quantity|semver)\(\s*["'])(?P<measured>(?:[^"'\\]|\\.)*)(?P<end>["'])"""
    r"""|(?P<quote>[rR]?["'])(?P<text>(?:[^"'\\]|\\.)*)(?P<unquote>["'])|\w+"""
)
_CEL_NUMBER = re.compile("(?:0x[0-9a-fA-F]+|[0-9]+(?:[eE][0-9]+)?)[uU]?")
_LOOKS_INSIDE = re.compile(
    r"\.(?:contains|endsWith|find|findAll|indexOf|lastIndexOf|matches|replace|split|startsWith|substring)\("
)


def looks_inside(expression: str) -> bool:
    """Whether an expression takes parts of a text."""
    return _LOOKS_INSIDE.search(expression) is not None


def translate_words(expression: str, put: Callable[[str], str], put_measure: Callable[[str], str]) -> str:
    """The expression with what ``put`` makes of each text and each word in it; numbers stay.

    ``put_measure`` is for texts that are turned into quantities and versions.
    """

    def token(match: re.Match[str]) -> str:
        if match["measure"]:
            return match["measure"] + put_measure(match["measured"]) + match["end"]
        if match["quote"]:
            return match["quote"] + put(match["text"]) + match["unquote"]
        return match[0] if _CEL_NUMBER.fullmatch(match[0]) else put(match[0])

    return _TOKEN.sub(token, expression)


NOT_VALID = "~"
"""Stands after a code in a pseudonym if upstream would not let the name pass, so that it does not let the pseudonym."""

_ADDRESSES = int(ipaddress.IPv4Address("198.18.0.0"))  # set aside for benchmarks: 131,072 addresses
_NO_ADDRESS = frozenset({"", "0.0.0.0", "::", "127.0.0.1", "::1"})

_OCTETS = r"[0-9]{1,3}"
_DOTTED = rf"{_OCTETS}(?:\.{_OCTETS}){{3}}"
_HEX = "[0-9A-Fa-f]"
_GROUP = f"{_HEX}{{1,4}}"
# Addresses of IPv6: all eight groups, six before one of IPv4, or fewer around a gap.
_IPV6 = (
    rf"(?:{_GROUP}:){{7}}{_GROUP}|(?:{_GROUP}:){{6}}{_DOTTED}"
    rf"|(?:{_GROUP}(?::{_GROUP}){{0,6}})?::(?:{_GROUP}:){{0,6}}(?:{_DOTTED}|{_GROUP})|{_GROUP}(?::{_GROUP}){{0,6}}::"
)
_DASHED_IPV6 = (
    rf"(?:{_GROUP}-){{7}}{_GROUP}"
    rf"|(?:{_GROUP}(?:-{_GROUP}){{0,6}})?--(?:{_GROUP}-){{0,6}}{_GROUP}|{_GROUP}(?:-{_GROUP}){{0,6}}--"
)

# Words; and addresses, also with dashes, as clouds and DNS put them into names, which are one word: those of IPv4 and
# IPv6, those of network cards, and names of reverse DNS.
WORD = re.compile(
    rf"(?<![^\W_])(?:(?:{_IPV6}|{_DASHED_IPV6}|(?:{_HEX}{{2}}[:-]){{5,7}}{_HEX}{{2}}"
    rf"|(?:{_HEX}\.){{15,31}}{_HEX}|{_DOTTED}|(?:ip-)?{_OCTETS}(?:-{_OCTETS}){{3}})(?![^\W_]))|[^\W_]+"
)
_CODE = re.compile("[a-z]{1,2}[0-9]{3,}")
_NUMBER = re.compile(r"[0-9]{1,3}")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FIGURE = re.compile(r"-?[0-9]+\.[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T_][0-9.-]*Z?)?")
"""A number with a fraction, or a day, maybe with its time."""

_LONGEST_LABEL, _LONGEST_NAME = 63, 253
_GCE_DISK = re.compile(r"projects/([^/]+)/(zones|regions)/([^/]+)/disks/([^/]+)")
_AWS_DISK = re.compile(r"aws://([^/]*)(/*)(.*)", re.DOTALL)
_AMOUNT = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[EPTGMk]i?|Ki|m|u|n)?")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_UNSPECIFIED = "UNSPECIFIED"
_LATEST = ":latest"
_DIGESTS = frozenset({"sha256", "sha512"})


def address_of(number: int) -> str:
    """The address that stands for the one of this number."""
    return str(ipaddress.IPv4Address(_ADDRESSES + number))


def uid_of(number: int) -> str:
    """The uid that stands for the one of this number."""
    return f"00000000-0000-8000-8000-{number:012d}"


def _memoize(work_out: Callable[[Pseudonyms, str], str]) -> Callable[[Pseudonyms, str], str]:
    """Each name is worked out once."""
    method = work_out.__name__

    @functools.wraps(work_out)
    def look_up(names: Pseudonyms, raw: str) -> str:
        known = names.known[method]
        pseudonym = known.get(raw)
        if pseudonym is None:
            pseudonym = known[raw] = work_out(names, raw)
        return pseudonym

    return look_up


class Pseudonyms:
    """Pseudonyms by kind of name.

    In the first pass names are only collected, and the returned values are not used. ``settle`` gives codes to what was
    collected; once it has found nothing new, the returned values are the pseudonyms. ``looking_inside`` are expressions
    that take parts of a text, which differ in a pseudonym.
    """

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        self.looking_inside: set[str] = set()
        self.known: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._values: dict[tuple[str, str], str] = {}
        self._compared = len(translation.numeric)

    def settle(self) -> bool:
        """Whether nothing was collected that has no pseudonym yet; if there was, it has one from now on."""
        compared, self._compared = self._compared, len(self.translation.numeric)
        is_changed = self.translation.settle() or compared != self._compared
        if is_changed:
            self.known.clear()
            self._values.clear()
        return not is_changed

    # --- names of objects and whatever else is free to choose

    @_memoize
    def name(self, raw: str) -> str:
        """The name of an object or a part of one, a namespace, or any other text that a person chose."""
        if raw in wellknown.DEFAULT_NAMES:
            return raw
        coded = self._short(self.translation.words, raw, _LONGEST_NAME)
        valid = is_label_key(f"{raw}/x")
        return coded if valid or not is_label_key(f"{coded}/x") else _invalidate(coded)

    def node(self, raw: str) -> str:
        return self.translation.nodes.code(raw) if raw else raw

    def uid(self, raw: str) -> str:
        return uid_of(self.translation.uids.number(raw)) if raw else raw

    def address(self, raw: str) -> str:
        return raw if raw in _NO_ADDRESS else address_of(self.translation.addresses.number(raw))

    def driver(self, raw: str) -> str:
        """A CSI driver, or a provisioner."""
        return raw if raw in wellknown.DRIVERS else self.qualified_name(raw)

    def priority_class(self, raw: str) -> str:
        return raw if raw in wellknown.PRIORITY_CLASSES else self.name(raw)

    def scheduler(self, raw: str) -> str:
        return raw if raw == wellknown.SCHEDULER else self.name(raw)

    @_memoize
    def image(self, raw: str) -> str:
        """The name of an image; ``:latest``, which is the same as no tag, stays."""
        words = self.translation.words
        before, at, digest = raw.partition("@")
        name = before.removesuffix(_LATEST)
        algorithm, colon, digits = digest.partition(":")
        algorithm = algorithm if algorithm in _DIGESTS else self._words(words, algorithm)
        return self._words(words, name) + before[len(name) :] + at + algorithm + colon + self._words(words, digits)

    @_memoize
    def disk(self, raw: str) -> str:
        """A disk or its handle. How in-tree disks are found in the names that their drivers give them stays."""
        words = self.translation.words
        coded, rest = "", raw
        if match := _GCE_DISK.fullmatch(raw):
            project = match[1] if match[1] == _UNSPECIFIED else self._words(words, match[1])
            coded, rest = f"projects/{project}/{match[2]}/{self._words(words, match[3])}/disks/", match[4]
        elif match := _AWS_DISK.fullmatch(raw):
            coded, rest = f"aws://{self._words(words, match[1])}{match[2]}", match[3]
        if rest.startswith("vol-"):
            coded, rest = coded + "vol-", rest.removeprefix("vol-")
        return coded + self._words(words, rest)

    # --- devices

    def pool(self, raw: str) -> str:
        """A pool of devices. Most are named after a node, so the order of the others would show among them, too."""
        return self.translation.pools.code(raw) if raw else raw

    @_memoize
    def free(self, raw: str) -> str:
        """The value of a device's attribute, or a word or a text in an expression."""
        return raw if raw in CEL_WORDS else self._words(self.translation.words, raw)

    def version(self, raw: str) -> str:
        """A semantic version; one of three numbers stays, since expressions count with them."""
        return raw if _VERSION.fullmatch(raw) else self.free(raw)

    def measure(self, raw: str) -> str:
        """What an expression takes for a quantity or a version."""
        return raw if _AMOUNT.fullmatch(raw) else self.version(raw)

    def attribute(self, raw: str) -> str:
        """The name of an attribute or a capacity, with its domain or without."""
        domain, slash, name = raw.rpartition("/")
        return self._words(self.translation.words, domain) + slash + self.free(name)

    @_memoize
    def expression(self, raw: str) -> str:
        """An expression in CEL: its texts, and names that are not part of the language."""
        if looks_inside(raw):
            self.looking_inside.add(raw)
        return translate_words(raw, self.free, self.measure)

    # --- labels

    def label_key(self, raw: str) -> str:
        """The key of a label or a taint."""
        return raw if raw in wellknown.KEYS else self.qualified_name(raw)

    @_memoize
    def qualified_name(self, raw: str) -> str:
        """``domain/name`` or a name, as in keys of labels and names of scheduling gates."""
        words = self.translation.words
        domain, slash, name = raw.rpartition("/")
        kept = domain in wellknown.DOMAINS
        coded = (domain if kept else self._short(words, domain)) + slash + self._short(words, name)
        return coded if is_label_key(raw) or not is_label_key(coded) else _invalidate(coded)

    def label_value(self, key: str, raw: str) -> str:
        """The value of a label or a taint with this key."""
        pseudonym = self._values.get((key, raw))
        if pseudonym is None:
            pseudonym = self._values[key, raw] = self._label_value(key, raw)
        return pseudonym

    def _label_value(self, key: str, raw: str) -> str:
        if key in wellknown.NODE_KEYS:
            return self.node(raw)
        if key in wellknown.UID_KEYS:
            return self.uid(raw)
        if key in wellknown.PLATFORM_KEYS and raw in wellknown.ARCHITECTURES:
            return raw
        if raw in wellknown.KARPENTER_VALUES.get(key, ()):
            return raw
        if (key in self.translation.numeric or key in wellknown.INDEX_KEYS) and _INTEGER.fullmatch(raw):
            return raw
        if key in self.translation.numeric and _FIGURE.fullmatch(raw):
            return raw
        coded = self._short(self.translation.words, raw)
        return coded if is_label_value(raw) or not is_label_value(coded) else _invalidate(coded)

    def numeric_label_key(self, raw: str) -> str:
        """The key of a label whose values are read as numbers or as moments."""
        self.compares(raw)
        return self.label_key(raw)

    def compares(self, key: str) -> None:
        """Values of this label are compared as numbers."""
        self.translation.numeric.add(key)

    # --- resources

    @_memoize
    def resource(self, raw: str) -> str:
        """The name of a resource as in requests, allocatable, quotas and limits."""
        if raw in wellknown.RESOURCES or re.fullmatch("hugepages-[0-9]+[KMGTPE]?i?", raw):
            return raw
        for prefix in ("requests.", "limits."):
            if raw.startswith(prefix):
                return prefix + self.resource(raw.removeprefix(prefix))
        if match := re.fullmatch(r"(.+)(\.(?:storage|device)class\.(?:storage|resource)\.k8s\.io/.+)", raw):
            known = match[2].rpartition("/")[2] in ("requests.storage", "persistentvolumeclaims", "devices")
            if known:
                return self.name(match[1]) + match[2]
        if raw.startswith("deviceclass.resource.kubernetes.io/"):
            return "deviceclass.resource.kubernetes.io/" + self.name(raw.partition("/")[2])
        if raw.startswith("attachable-volumes-csi-"):
            return "attachable-volumes-csi-" + self.driver(raw.removeprefix("attachable-volumes-csi-"))
        if raw.startswith("attachable-volumes-") and f"kubernetes.io/{raw[19:]}" in wellknown.DRIVERS:
            return raw
        resources = self.translation.resources
        domain, slash, name = raw.partition("/")
        native = "kubernetes.io" if slash and domain.endswith("kubernetes.io") else ""
        coded = self._short(resources, domain.removesuffix(native)) + native + slash + self._short(resources, name)
        valid, coded_valid = is_label_key(f"requests.{raw}"), is_label_key(f"requests.{coded}")
        return coded if valid or not coded_valid else _invalidate(coded)

    def resource_group(self, raw: str) -> str:
        """What stands before the slash of some resources."""
        return self._short(self.translation.resources, raw)

    # --- words

    def _words(self, words: OrderedCodes, raw: str) -> str:
        return WORD.sub(lambda match: _encode_word(words, match[0]), raw)

    def _short(self, words: OrderedCodes, raw: str, longest: int = _LONGEST_LABEL) -> str:
        """As ``_words``, but a name that would exceed upstream's length is replaced as a single word."""
        if raw in words.codes and not WORD.fullmatch(raw):
            return words.codes[raw]
        coded = self._words(words, raw)
        return words.code(raw) if len(raw) <= longest < len(coded) else coded


def _encode_word(words: OrderedCodes, word: str) -> str:
    """A number of up to three digits stays, also before a word, as the ordinal of a pod does."""
    number = _NUMBER.match(word)
    if number is None or not word.isalnum():
        return words.code(word)
    rest = word[number.end() :]
    return number[0] + words.code(rest) if rest else number[0]


def _invalidate(coded: str) -> str:
    return _CODE.sub(rf"\g<0>{NOT_VALID}", coded, count=1)
