"""The dry run of preemption under a plugin's own rules: possible victims, and conditions besides the filters.

Upstream: SelectVictimsOnNode of pkg/capacityscheduling and pkg/preemptiontoleration of scheduler-plugins.
"""

from __future__ import annotations

import numpy as np

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.framework.victim_rules import Account, VictimRules
from kwhatif.scheduling.preemption_candidates import VictimTable


class RuledSearch:
    """The rules' part in the dry run for one pod.

    ``errors`` are by row. Of the nodes that ``begin`` was given, ``uncounted`` bool[n, P] are pods whose going breaks
    no budget, since not the filters made them go, and ``clean`` bool[n] are nodes without an error.
    """

    def __init__(self, pod: PodInfo, rules: VictimRules, table: VictimTable) -> None:
        self._pod, self._rules, self._table = pod, rules, table
        self.errors: dict[int, str] = {}
        self._rows: IntpArray = np.zeros(0, np.intp)
        self._accounts: list[Account] = []
        self.uncounted: BoolArray = np.zeros((0, 0), np.bool_)
        self.clean: BoolArray = np.zeros(0, np.bool_)

    def possible(self, rows: IntpArray, there: BoolArray) -> BoolArray:
        """bool[n, P]: possible victims; ``there`` says which of the places are taken."""
        victims: BoolArray = np.zeros(there.shape, np.bool_)
        for place, row in enumerate(rows.tolist()):
            pods = self._table.pods(row)
            answer = self._rules.victims(self._pod, pods)
            if isinstance(answer, str):
                self.errors[row] = answer
            else:
                victims[place, : len(pods)] = answer
        return victims

    def describe_no_victims(self, node: str) -> str:
        return self._rules.describe_no_victims(self._pod, node)

    def begin(self, rows: IntpArray, victims: BoolArray) -> dict[int, str]:
        """All possible victims are removed; returns the places where the pod still does not fit, and why."""
        accounts, refused = [], {}
        for place, row in enumerate(rows.tolist()):
            account = self._rules.account(self._pod)
            pods = self._table.pods(row)
            for column in np.flatnonzero(victims[place]).tolist():
                account.remove(pods[column])
            if account.refusal:
                refused[place] = account.refusal
            else:
                accounts.append(account)
        left = np.array([place for place in range(len(rows)) if place not in refused], np.intp)
        self._accounts, self._rows = accounts, rows[left]
        self.uncounted = np.zeros((len(left), victims.shape[1]), np.bool_)
        self.clean = np.ones(len(left), np.bool_)
        return refused

    def judge(self, places: IntpArray, columns: IntpArray, fits: BoolArray) -> BoolArray:
        """bool[n]: which of the reprieved pods may stay, of those with which the filters still pass."""
        stays = fits.copy()
        for k, (place, column) in enumerate(zip(places.tolist(), columns.tolist(), strict=True)):
            row, account = int(self._rows[place]), self._accounts[place]
            info = self._table.pods(row)[column]
            account.add(info)
            if not fits[k]:
                account.remove(info)
            if not account.is_exceeded:
                continue
            if fits[k]:
                account.remove(info)
                stays[k] = False
                self.uncounted[place, column] = True
            else:
                # Upstream takes it away a second time, which is an error.
                node = self._table.columns.names[row]
                self.errors.setdefault(row, f"no corresponding pod {info.pod.name} in pods of node {node}")
                self.clean[place] = False
        return stays
