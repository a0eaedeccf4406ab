// Where pods go from where they were: from the zones and pools of one state to those of the other.

const MOST_FLOWS = 14;

/** The pod that stands in the place of this one in the end: one that was recreated may have been evicted, too. */
function lastMadeOf(name) {
  let made = FACTS.again.get(name);
  for (const seen = new Set([name]); made !== undefined && FACTS.again.has(made) && !seen.has(made); made = FACTS.again.get(made)) seen.add(made);
  return made;
}

function flowsOf() {
  const { at, last, pods, nodes } = CLUSTER;
  const place = (node) => [node.zone, node.pool].filter(Boolean).join(' · ') || node.name;
  const end = (node) => (node === undefined || node < 0 ? null : place(nodes[node]));
  const counts = new Map();
  const add = (from, to) => {
    const key = JSON.stringify([from, to]);
    counts.set(key, (counts.get(key) || 0) + 1);
  };
  pods.forEach((name, pod) => {
    const [from, to] = [at[0][pod], at[last][pod]];
    if (from === to) return;
    if (from >= 0) {
      const made = lastMadeOf(name);
      const again = to >= 0 || made === undefined ? to : at[last][CLUSTER.podPlaces.get(made)];
      const nowhere = COMPARES ? 'no node in B' : made === undefined ? 'evicted' : 'no node';
      add(end(from), end(again) || nowhere);
    } else if (COMPARES) add('no node in A', end(to));
  });
  return [...counts].map(([key, number]) => [...JSON.parse(key), number]).sort((a, b) => b[2] - a[2]);
}

function flowsPart() {
  const flows = flowsOf();
  if (!flows.length) return null;
  const shown = flows.slice(0, MOST_FLOWS * 3);
  const number = flows.reduce((sum, [, , each]) => sum + each, 0);
  const [left, right] = COMPARES ? ['A: ', 'B: '] : ['', '→ '];
  const box = element('div', { class: 'flows' });
  const ends = new Set(shown.flatMap(([from, to]) => [left + from, right + to]));
  box.style.height = `${Math.min(120 + 26 * Math.max(new Set(shown.map(([from]) => from)).size, new Set(shown.map(([, to]) => to)).size), 560)}px`;
  later(() => drawnChart(box, `${counted(number, 'pod')} change place; the table below says from where to where.`, () => ({
    tooltip: tooltip((at) => (at.dataType === 'edge' ? `${at.data.source} → ${at.data.target.slice(right.length)}: ${counted(at.data.value, 'pod')}` : at.name)),
    series: [{
      type: 'sankey', left: 8, right: 8, top: 8, bottom: 8, nodeAlign: 'justify', draggable: false, nodeWidth: 12, nodeGap: 10, layoutIterations: 16,
      label: { color: colour('ink'), fontSize: 11, position: 'inside', align: 'left', distance: 0, offset: [16, 0], overflow: 'truncate', width: Math.max(box.clientWidth / 2 - 40, 80) },
      lineStyle: { color: colour('series-0'), opacity: 0.35, curveness: 0.5 }, emphasis: { focus: 'adjacency' },
      data: [...ends].map((name) => ({ name, depth: name.startsWith(right) && shown.some(([, to]) => right + to === name) ? 1 : 0, itemStyle: { color: colour('series-0') }, label: name.startsWith(right) ? { align: 'right', offset: [-16, 0] } : {} })),
      links: shown.map(([from, to, value]) => ({ source: left + from, target: right + to, value })),
    }],
  })));
  return part(COMPARES ? 'From A to B' : 'Where pods go', element('p', { class: 'quiet' }, `${counted(number, 'pod')} by zone and pool${flows.length > shown.length ? `; the chart has the ${shown.length} largest flows` : ''}.`), box,
    bigTable({ title: 'Pods by where they were and where they go', heads: ['From', 'To', 'Pods'], size: flows.length, cell: (row, place) => String(flows[row][place]) }));
}
