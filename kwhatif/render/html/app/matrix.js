// For each explained pod: what every plugin says of every node.

function matrixPart(matrix, number) {
  matrix.id = `pod-${number}`;
  const words = { placed: `goes to ${matrix.node}`, unschedulable: 'finds no node' };
  const section = element('section', { id: matrix.id, 'aria-labelledby': `${matrix.id}-title`, class: 'matrix' },
    element('h3', { id: `${matrix.id}-title` }, podLink(matrix.pod), ` ${words[matrix.outcome] || matrix.outcome}`));
  if (matrix.message) section.append(element('p', { class: 'message' }, matrix.message));
  if (matrix.state) section.append(element('p', { class: 'quiet' }, `Explained ${matrix.state}.`));
  if (matrix.alike.length) {
    section.append(element('details', {}, element('summary', {}, `${counted(matrix.alike.length, 'pod')} of the same workload ${matrix.alike.length === 1 ? 'comes' : 'come'} to the same`),
      element('ul', {}, ...matrix.alike.map(([pod, node]) => element('li', {}, podLink(pod), node ? ' → ' : '', node ? nodeLink(node) : '')))));
  }
  if (matrix.compared) section.append(element('p', {}, matrix.compared));
  if (matrix.fixes.length) {
    section.append(element('h4', {}, `Single changes that let it run (${matrix.tried} tried)`),
      smallTable('Changes that help', ['Change', 'Places', 'Leads to', 'Evicts'], matrix.fixes.map(([change, pods, node, victims]) => [change, pods, nodeLink(node), victims || '–'])));
  }
  if (matrix.feasible.length) section.append(...feasiblePart(matrix));
  if (matrix.rejected.length) section.append(...rejectedPart(matrix));
  if (matrix.evictions.length) section.append(...evictionsPart(matrix));
  return section;
}

function evictionsPart(matrix) {
  return [
    element('h4', {}, 'Evictions that would make room, the best first'),
    smallTable(`Evictions for ${matrix.pod}`, ['Node', 'Victims', 'Budgets violated', 'Highest priority', 'Earliest start', 'Worse by'],
      matrix.evictions.map(([node, victims, violations, top, start, chosen, behind]) => [
        element('span', {}, chosen ? '✓ ' : '', nodeLink(node)), String(victims), String(violations), String(top), start || '–', behind || '–',
      ]), [1, 2, 3]),
  ];
}

function feasiblePart(matrix) {
  const plugins = [...new Set(matrix.feasible.flatMap((node) => node.scores.map(([plugin]) => plugin)))];
  const weights = new Map(matrix.feasible.flatMap((node) => node.scores.map(([plugin, weight]) => [plugin, weight])));
  const rows = matrix.feasible.map((node) => {
    const of = new Map(node.scores.map((score) => [score[0], score]));
    return [
      node.node, String(node.rank || '–'), String(node.total === null ? '–' : node.total),
      ...plugins.map((plugin) => {
        const score = of.get(plugin);
        return score ? (score[2] === score[3] ? `${score[3]} × ${score[1]} = ${score[4]}` : `${score[2]} → ${score[3]} × ${score[1]} = ${score[4]}`) : '–';
      }),
    ];
  });
  const told = [
    element('h4', {}, `Feasible nodes (${matrix.feasible.length + matrix.more})`),
    element('p', { class: 'quiet' }, 'Each cell: the raw score, where it differs brought to 0 to 100 (→), times the weight. ✓ marks the chosen node.'),
    bigTable({
      title: `Scores for ${matrix.pod}`, heads: ['Node', 'Rank', 'Total', ...plugins], size: rows.length,
      cell: (row, place) => rows[row][place],
      drawn: (row, place, text) => (place ? null : element('span', {}, matrix.feasible[row].chosen ? '✓ ' : '', nodeLink(text))),
    }),
  ];
  const how = matrix.feasible.flatMap((node) => node.how.map(([plugin, raw, detail]) => [node.node, plugin, String(raw), detail]));
  if (how.length) {
    told.push(element('h4', {}, 'How raw scores come about'), bigTable({
      title: `How scores for ${matrix.pod} come about`, heads: ['Node', 'Plugin', 'Raw', 'Arithmetic'], size: how.length,
      cell: (row, place) => how[row][place], drawn: (row, place, text) => (place ? null : nodeLink(text)),
    }));
  }
  if (matrix.more) told.push(element('p', { class: 'quiet' }, `${counted(matrix.more, 'node')} with lower ranks are not in this report.`));
  if (plugins.length && matrix.feasible.length > 1) {
    const best = matrix.feasible.slice(0, 12);
    const box = element('div', { class: 'bars' });
    box.style.height = `${60 + 24 * best.length}px`;
    const shades = ['series-0', 'series-1', 'series-2', 'series-3', 'series-4', 'series-5'];
    later(() => drawnChart(box, `Scores of the best ${best.length} nodes by plugin; the table above has them in numbers.`, () => ({
      aria: { enabled: false, decal: { show: true } },
      grid: { left: 8, right: 40, top: 40, bottom: 8, containLabel: true },
      legend: { type: 'scroll', top: 0, textStyle: { color: colour('quiet') } },
      tooltip: tooltip((bar) => `${bar.name}\n${bar.seriesName}: ${bar.value}`),
      xAxis: { type: 'value', axisLabel: { color: colour('quiet') }, splitLine: { lineStyle: { color: colour('line') } } },
      yAxis: { type: 'category', inverse: true, data: best.map((node) => node.node), axisLabel: { color: colour('quiet'), width: 180, overflow: 'truncate' } },
      series: plugins.map((plugin, number) => ({
        name: `${plugin} × ${weights.get(plugin)}`, type: 'bar', stack: 'total', itemStyle: { color: colour(shades[number % shades.length]) },
        data: best.map((node) => (node.scores.find(([name]) => name === plugin) || [0, 0, 0, 0, 0])[4]),
      })),
    }), (bar) => { if (CLUSTER && CLUSTER.places.has(bar.name)) openNode(CLUSTER.nodes[CLUSTER.places.get(bar.name)]); }));
    told.push(box);
  }
  return told;
}

function rejectedPart(matrix) {
  const rows = matrix.rejected.flatMap((group) => {
    const names = frontCoded(group.nodes);
    return group.blockers.map(([plugin, reason, detail, reported, eviction], place) => ({
      names: place ? [] : names, cells: [
        place ? '' : names.length === 1 ? names[0] : `${names.length} nodes: ${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}`,
        plugin, reason, detail || '–', reported ? 'yes' : 'no', eviction,
      ],
    }));
  });
  return [
    element('h4', {}, `Rejected nodes (${matrix.rejected.reduce((sum, group) => sum + group.nodes.n, 0).toLocaleString('en')})`),
    element('p', { class: 'quiet' }, 'The nearest misses first. Nodes with the same verdict share a row; a detail is that of the first of them.'),
    bigTable({
      title: `Why nodes reject ${matrix.pod}`, heads: ['Nodes', 'Plugin', 'Reason', 'Detail', 'In the scheduler’s message', 'Eviction'], size: rows.length,
      cell: (row, place) => rows[row].cells[place],
      drawn: (row, place, text) => (place === 0 && rows[row].names.length === 1 ? nodeLink(text) : null),
    }),
  ];
}

// Charts need to stand in the page before they are drawn.
const LATER = [];

function later(draw) {
  LATER.push(draw);
}
