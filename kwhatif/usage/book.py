"""Usage by workload, container and resource, and counts of the samples that were dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.usage.histogram import BIN, FloatArray, Histogram
from kwhatif.usage.use_over_time import Timeline

RESOURCES = ("cpu", "memory")

Key = tuple[str, str, str]
"""Workload, container, resource."""


class KnownPod(msgspec.Struct, frozen=True):
    """A pod's workload and containers. ``present``: the pod is in the cluster now, and not only its workload."""

    workload: str
    containers: tuple[str, ...]
    present: bool


Directory = Callable[[str, str], KnownPod | None]
"""Namespace and name of a pod -> what the cluster knows of it; None if it knows nothing."""


class Complaints(msgspec.Struct):
    """Dropped samples: how many, and why.

    ``pods`` are all pods that occurred, ``strangers`` those that the cluster does not know.
    """

    samples: int = 0
    series: int = 0
    not_a_number: int = 0
    negative: int = 0
    untimely: int = 0
    partial: int = 0
    repeated: int = 0
    outside_window: int = 0
    resets: int = 0
    aggregates: int = 0
    unrelated: int = 0
    unnamed: Counter[str] = msgspec.field(default_factory=Counter)
    pods: set[str] = set()
    strangers: set[str] = set()
    unknown_containers: set[str] = set()
    undivided: set[str] = set()


MOST_AMOUNT = 2.0**53
"""In millicores or bytes: what is more than eight pebibytes is no sample of a container."""

_FIRST_MOMENT, _LAST_MOMENT = 0.0, 253_402_300_800.0
"""Seconds since 1970: samples are of the years 1970 to 9999."""

_LONGEST_NAME = 253


class UsageBook:
    """Distributions by workload, container and resource; peaks by pod; and what pods used at the same times.

    Its size depends on how many workloads and pods there are, and not on how many samples. Of each series only the last
    ``window`` seconds count, if one is named.
    """

    def __init__(self, directory: Directory, window: float | None = None) -> None:
        self._directory, self._window = directory, window
        self.histograms: dict[Key, Histogram] = {}
        self.pod_peaks: dict[tuple[str, str, str], int] = {}
        self.timeline = Timeline()
        self.complaints = Complaints()
        self.sources: list[str] = []
        self.first: float | None = None
        self.last: float | None = None
        self._known: dict[tuple[str, str], KnownPod | None] = {}
        self._seen: dict[tuple[str, str, str, str], float] = {}
        self._room = 0

    def add(
        self, namespace: str, pod: str, container: str, resource: str, times: FloatArray | None, values: FloatArray
    ) -> None:
        """Samples of one container: seconds, and millicores or bytes, float64[n] each.

        Without ``times`` they are of the time of the reading. A container without a name is the pod's only one.
        """
        complaints = self.complaints
        complaints.series += 1
        complaints.samples += len(values)
        if max(map(len, (namespace, pod, container))) > _LONGEST_NAME:
            # No pod has such a name.
            complaints.unrelated += 1
            return
        key = f"{namespace}/{pod}"
        complaints.pods.add(key)
        if len(complaints.pods) + len(complaints.unknown_containers) > bounds.OBJECTS:
            raise InputError(f"usage is of more than {bounds.OBJECTS:,} pods and containers in all")
        known = self._pod(namespace, pod)
        if known is None:
            complaints.strangers.add(key)
            return
        if not container:
            if len(known.containers) != 1:
                complaints.undivided.add(key)
                return
            (container,) = known.containers
        elif container not in known.containers:
            complaints.unknown_containers.add(f"{key}/{container}")
            return
        times, values = self._sound(times, values, (namespace, pod, container, resource))
        if not len(values):
            return
        if times is not None:
            begin, end = float(times[0]), float(times[-1])
            self.first = begin if self.first is None else min(self.first, begin)
            self.last = end if self.last is None else max(self.last, end)
        place = known.workload, container, resource
        histogram = self.histograms.get(place)
        if histogram is None:
            histogram = self.histograms[place] = Histogram(resource)
            self._room += histogram.room
        before = histogram.room
        whole = histogram.add(values)
        self._room += histogram.room - before
        if self._room > bounds.USAGE_VALUES:
            raise InputError(f"usage has more than {bounds.USAGE_VALUES:,} different values in all")
        if known.present:
            mine = key, container, resource
            self.pod_peaks[mine] = max(self.pod_peaks.get(mine, 0), int(whole.max()))
            self.timeline.add(key, resource, times, np.ceil(whole / BIN[resource]))

    def _pod(self, namespace: str, pod: str) -> KnownPod | None:
        key = namespace, pod
        if key not in self._known:
            self._known[key] = self._directory(namespace, pod)
        return self._known[key]

    def sound_samples(self, times: FloatArray | None, values: FloatArray) -> NDArray[np.bool_]:
        """Which samples are of a time and an amount that can be, bool[n]; the others are counted."""
        complaints = self.complaints
        finite = np.isfinite(values) & (values <= MOST_AMOUNT)
        positive = ~(values < 0)
        complaints.not_a_number += int(np.count_nonzero(~finite & positive))
        complaints.negative += int(np.count_nonzero(~positive))
        sound = finite & positive
        if times is not None:
            timely = (times >= _FIRST_MOMENT) & (times < _LAST_MOMENT)
            complaints.untimely += int(np.count_nonzero(sound & ~timely))
            sound &= timely
        return sound

    def _sound(
        self, times: FloatArray | None, values: FloatArray, series: tuple[str, str, str, str]
    ) -> tuple[FloatArray | None, FloatArray]:
        """The samples without those that are invalid, duplicates, or too old."""
        complaints = self.complaints
        sound = self.sound_samples(times, values)
        if not sound.all():
            values, times = values[sound], None if times is None else times[sound]
        if times is None or not len(values):
            return times, values
        last = self._seen.get(series, -np.inf)
        highest = np.maximum.accumulate(np.concatenate(([last], times[:-1])))
        new = times > highest
        if not new.all():
            complaints.repeated += int(len(new) - np.count_nonzero(new))
            times, values = times[new], values[new]
            if not len(times):
                return times, values
        self._seen[series] = float(times[-1])
        if self._window is not None and times[0] < times[-1] - self._window:
            recent = times >= times[-1] - self._window
            complaints.outside_window += int(len(recent) - np.count_nonzero(recent))
            times, values = times[recent], values[recent]
        return times, values

    # --- what is known

    def of(self, workload: str, container: str, resource: str) -> Histogram | None:
        """The distribution of one container's use of a resource, None if it is unknown."""
        return self.histograms.get((workload, container, resource))

    @property
    def is_of_one_moment(self) -> bool:
        """Whether all samples are of one time, so that they say nothing of how use varies."""
        return self.first is not None and self.first == self.last

    @property
    def matched_pods(self) -> int:
        """How many of the pods that occurred the cluster knows."""
        return len(self.complaints.pods) - len(self.complaints.strangers)

    def together(self, pods: Iterable[str], resource: str, percent: float) -> int | None:
        """The percentile of what these pods used together, in millicores or bytes, None if it is unknown."""
        sums = self.timeline.together(pods, resource)
        if not len(sums):
            return None
        rank = max(1, int(np.ceil(len(sums) * percent / 100 - 1e-9)))
        return int(np.partition(sums, rank - 1)[rank - 1]) * BIN[resource]

    def notes(self) -> Iterator[str]:
        """What was left out, in words and numbers."""
        complaints = self.complaints
        pods = len(complaints.pods)
        if complaints.strangers:
            some = ", ".join(sorted(complaints.strangers)[:3])
            yield f"{len(complaints.strangers)} of {pods} pods with usage are not of this cluster, such as {some}"
        for number, what in (
            (complaints.not_a_number, "samples are not numbers (NaN, infinite, or stale markers): they are left out"),
            (complaints.negative, "samples are negative: they are left out"),
            (complaints.untimely, "samples are of no time in the years 1970 to 9999: they are left out"),
            (complaints.partial, "answers are incomplete or in doubt, as the server that gave them says itself"),
            (complaints.repeated, "samples are no later than others of their series: they are left out"),
            (complaints.outside_window, "samples are older than the window: they are left out"),
            (complaints.resets, "counter resets: the new value is taken as the increase"),
            (complaints.unrelated, "series are of no container's CPU or memory: they are left out"),
            (len(complaints.unknown_containers), "containers have usage and are in no pod's spec: they are left out"),
            (len(complaints.undivided), "pods have several containers, and usage of all together: they are left out"),
            (complaints.unnamed["cpu"], "series name no metric and are taken for CPU in cores, by their size"),
            (complaints.unnamed["memory"], "series name no metric and are taken for memory in bytes, by their size"),
        ):
            if number:
                yield f"{number:,} {what}"
