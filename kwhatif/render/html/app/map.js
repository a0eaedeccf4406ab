// The cluster as a map: nodes as tiles by zone and pool, filled by how much of a resource is asked for.

const BANDS = [
  [0, 'nothing'], [0.25, 'to 25%'], [0.5, 'to 50%'], [0.75, 'to 75%'], [0.9, 'to 90%'], [1, 'to 100%'], [Infinity, 'over 100%'],
];

/** The largest tile is at most so many times the smallest. */
const SMALLEST_TILE = 40;

function bandOf(share) {
  if (share === null) return -1;
  if (share === 0) return 0;
  return BANDS.findIndex(([most]) => share <= most);
}

/** What happens on a node, as a sign and in words; after a failure what that brings. */
function marksOf(node, state) {
  if (LOSSES.has(state)) return marksAfter(node, LOSSES.get(state));
  const told = [];
  const drained = DRAINED.get(node.name);
  if (drained !== undefined) told.push([drained ? '⊗' : '⊘', drained ? 'drained' : 'not drained']);
  else if (node.closed) told.push(['⊘', node.closed]);
  if (node.arriving) told.push(['+', `${counted(node.arriving, 'pod')} ${COMPARES ? 'more in B' : 'arrive'}`]);
  if (node.leaving) told.push(['−', `${counted(node.leaving, 'pod')} ${COMPARES ? 'less in B' : 'leave'}`]);
  return told;
}

const MARKED_PART = 3;
const FEW_MARKED = 4;

/**
 * The nodes with a border: those that pods come to or leave. Two runs from scratch differ a little on nearly every node, as
 * one move leads to others: of a comparison in which many nodes differ, those have one that differ most in what is asked for.
 */
function markedNodes(resource, state) {
  if (LOSSES.has(state)) return new Set(CLUSTER.nodes.filter((node) => marksOf(node, state).length));
  const changed = CLUSTER.nodes.filter((node) => node.arriving || node.leaving);
  const most = Math.max(FEW_MARKED, Math.ceil(CLUSTER.nodes.length / MARKED_PART));
  if (!COMPARES || changed.length <= most) return new Set(changed);
  const difference = (node) => Math.abs(shareOf(0, resource, node) - shareOf(CLUSTER.last, resource, node)) || 0;
  return new Set(changed.sort((a, b) => difference(b) - difference(a)).slice(0, most));
}

const DRAINED = new Map((GIVEN.drained || []).map(([name, drained]) => [name, drained]));

const STATE_WORDS = { now: '', before: ' before', after: ' afterwards', A: ' in A', B: ' in B' };

/** What tiles can be filled by: how much of a resource is asked for, or the chance that a workload has a pod there. */
function fillsOf() {
  const fills = CLUSTER.resources.map((name, resource) => ({ name, resource, share: (state, node) => shareOf(state, resource, node) }))
    .filter(({ resource }) => CLUSTER.nodes.some((node) => node.room[resource]));
  const chances = (GIVEN.chances || []).map(({ workload, nodes }) => {
    const shares = new Map(nodes);
    return { name: `chance of ${workload}`, resource: fills[0].resource, chances: true, share: (_, node) => shares.get(node.name) || 0 };
  });
  return [...fills, ...chances];
}

/** What it comes to if a zone fails, behind its name. */
function zoneWords(zone) {
  const failure = FAILURES[zoneFailure(zone)];
  return failure ? ` · ${failure.stuck ? '✗' : '✓'} ${failure.words.split(',', 1)[0]}` : '';
}

/** How many of each group of pods fit in a domain, which is a pool on this map. */
function domainWords(pool) {
  const tried = GIVEN.groups.flatMap(({ domains }) => domains).filter(({ name }) => name && name === pool);
  return tried.map(({ words, chosen }) => ` · ${chosen ? '✓' : '✗'} ${words}`).join('');
}

/** The frame of a domain in which a group runs, or of one in which it does not fit. */
function domainStyle(pool) {
  const tried = GIVEN.groups.flatMap(({ domains }) => domains).filter(({ name }) => name && name === pool);
  if (!tried.length) return {};
  return { borderColor: colour(tried.some(({ chosen }) => chosen) ? 'good' : 'bad'), borderWidth: 4 };
}

/** What became of each group of pods, above the map. */
function groupLines() {
  return GIVEN.groups.map(({ text, good }) => element('p', { class: `flag ${good ? 'good' : 'bad'}` }, `${good ? '✓' : '✗'} ${text}`));
}

function clusterMap() {
  const { nodes, states, resources } = CLUSTER;
  let state = CLUSTER.last;
  const fills = fillsOf();
  let fill = fills[fills.findIndex((each) => each.chances) < 0 ? 0 : fills.findIndex((each) => each.chances)];
  if (FAILURES.length) state = stateAfter(Math.max(FAILURES.findIndex((each) => each.kind === 'zone'), 0));
  const box = element('div', { class: 'map' });
  const legend = element('ul', { class: 'legend', 'aria-label': 'Legend' });
  const said = element('p', { class: 'quiet' });

  function tile(node, many, least, bordered) {
    const share = fill.share(state, node);
    const gone = LOSSES.has(state) && LOSSES.get(state).gone.has(node.place);
    const absent = !isThere(node, state);
    const band = gone || absent ? -1 : bandOf(share);
    const marks = marksOf(node, state);
    const marked = marks.length > 0 && (state >= CLUSTER.last || Boolean(node.closed));
    const changes = bordered.has(node);
    const sign = marks.map(([each]) => each).join('');
    const dark = band >= 0 ? colour(`fill-${band}-ink`) : colour('quiet');
    return {
      name: node.name, value: Math.max(node.room[fill.resource], least), place: node.place,
      itemStyle: {
        color: band < 0 ? colour('fill-none') : colour(`fill-${band}`),
        borderColor: changes ? colour('mark') : node.closed ? colour('quiet') : band === 0 ? colour('line') : colour('raised'),
        borderWidth: changes || node.closed ? (many ? 2 : 3) : 1, gapWidth: 0,
      },
      // Of many tiles only those with a sign have a text: texts are what takes long.
      ...(many && !(sign && marked) ? {} : {
        label: {
          show: true, color: dark, fontSize: many ? 10 : 12,
          formatter: many ? sign : `${sign ? `${sign} ` : ''}${node.short}\n${gone ? 'fails' : absent ? 'not there' : percent(share)}`,
        },
      }),
    };
  }

  function options() {
    const many = nodes.length > 120;
    // A node without the resource has a tile all the same: it can be seen and clicked.
    const least = Math.max(...nodes.map((node) => node.room[fill.resource])) / SMALLEST_TILE;
    const bordered = markedNodes(fill.resource, state);
    const zones = new Map();
    for (const node of nodes) {
      const pools = zones.get(node.zone) || new Map();
      zones.set(node.zone, pools);
      if (!pools.has(node.pool)) pools.set(node.pool, []);
      pools.get(node.pool).push(tile(node, many, least, bordered));
    }
    const header = (size) => ({
      show: true, height: size, color: colour('quiet'), fontSize: 11, overflow: 'truncate', padding: [0, 4],
    });
    const group = { borderColor: colour('raised'), borderWidth: 3, gapWidth: 3, color: colour('raised') };
    const poolGroup = (pool) => ({ ...group, borderWidth: 2, gapWidth: 1, ...domainStyle(pool) });
    const data = [...zones].map(([zone, pools]) => ({
      name: `${zone || 'no zone'}${zoneWords(zone)}`, failure: zoneFailure(zone), itemStyle: group, upperLabel: header(20),
      children: [...pools].map(([pool, children]) => ({
        name: `${pool || 'no pool'} · ${children.length}${domainWords(pool)}`, itemStyle: poolGroup(pool), children,
        upperLabel: { ...header(18), ...(domainWords(pool) ? { color: colour('raised') } : {}) },
      })),
    }));
    return {
      tooltip: tooltip((at) => (at.data.place === undefined ? at.name : toldNode(nodes[at.data.place], state))),
      series: [{
        type: 'treemap', data, roam: false, nodeClick: false, breadcrumb: { show: false }, sort: null, squareRatio: 1,
        left: 0, right: 0, top: 0, bottom: 0, animation: false,
        label: { show: !many, overflow: 'truncate', lineHeight: 15, position: 'inside', align: 'center', verticalAlign: 'middle' },
        levels: [{ upperLabel: { show: false }, itemStyle: { ...group, borderWidth: 0 } }],
        upperLabel: { show: true }, itemStyle: { borderColor: colour('raised') },
        emphasis: { itemStyle: { borderColor: colour('ink') }, upperLabel: { show: true, color: colour('ink') } },
        visualMin: 0, visualMax: 1, visibleMin: 0, childrenVisibleMin: 0,
      }],
    };
  }

  function describe() {
    const { resource } = fill;
    const name = resources[resource];
    const size = `A tile is as large as the ${name} of its node.`;
    const there = nodes.filter((node) => isThere(node, state));
    if (fill.chances) return `${counted(there.length, 'node')}, filled by the ${fill.name} to be there. ${size}`;
    const loss = LOSSES.get(state);
    const left = loss ? there.filter((node) => !loss.gone.has(node.place)) : there;
    const total = left.reduce((sum, node) => sum + node.room[resource], 0);
    const used = CLUSTER.used[state][resource].reduce((sum, each) => sum + each, 0);
    const words = loss ? ` on those left by the failure of ${FAILURES[state - states.length].title}` : STATE_WORDS[states[state]];
    return `${counted(left.length, 'node')}. ${name} asked for${words}: ${spelledOf(name, used, total)}${total ? ` (${percent(used / total)})` : ''}. ${size}`;
  }

  let map = null;
  later(() => {
    map = drawnChart(box, labelOf(), options, (at) => {
      if (at.data && at.data.place !== undefined) openNode(nodes[at.data.place]);
      else if (at.data && at.data.failure >= 0) {
        byId('failure').value = String(at.data.failure);
        state = stateAfter(at.data.failure);
        changed();
      }
    });
  });

  function labelOf() {
    return `Map of the cluster. ${describe()} The table of nodes below says the same.`;
  }

  function changed() {
    map.again();
    said.textContent = describe();
    box.setAttribute('aria-label', labelOf());
    say(describe());
  }

  box.setAttribute('tabindex', '0');
  let at = -1;
  box.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      at = (at + step + nodes.length) % nodes.length;
      map.chart().dispatchAction({ type: 'downplay', seriesIndex: 0 });
      map.chart().dispatchAction({ type: 'highlight', seriesIndex: 0, name: nodes[at].name });
      map.chart().dispatchAction({ type: 'showTip', seriesIndex: 0, name: nodes[at].name });
      say(toldNode(nodes[at], state));
      event.preventDefault();
    } else if (event.key === 'Enter' && at >= 0) openNode(nodes[at]);
  });

  legend.append(...BANDS.map(([, words], band) => element('li', {}, element('span', { class: `swatch fill-${band}` }), words)));
  if (nodes.some((node) => node.arriving || node.leaving)) {
    legend.append(element('li', {}, element('span', { class: 'swatch marked' }), COMPARES ? 'differs most between A and B' : 'pods arrive or leave'));
    legend.append(element('li', {}, COMPARES ? '+ more in B, − less in B' : '+ pods arrive, − pods leave'));
  }
  if (nodes.some((node) => node.closed) || DRAINED.size) legend.append(element('li', {}, '⊘ cordoned or not ready'));
  if (DRAINED.size) legend.append(element('li', {}, '⊗ drained'));
  if (FAILURES.length) {
    legend.append(element('li', {}, element('span', { class: 'swatch marked' }), 'fails (⊗), or pods come (+) or leave (−)'));
    if (FAILURES.some(({ kind }) => kind === 'zone')) legend.append(element('li', {}, '✓ ✗ what it comes to if this zone fails'));
  }

  const tools = element('div', { class: 'tools' });
  const select = element('select', { id: 'fill', onchange: (event) => { fill = fills[Number(event.target.value)]; changed(); } },
    ...fills.map((each, place) => element('option', { value: String(place), selected: each === fill }, each.name)));
  tools.append(element('span', { class: 'slide' }, element('label', { for: 'fill' }, 'Filled by'), select));
  if (FAILURES.length) {
    const failures = element('select', { id: 'failure', onchange: (event) => { state = event.target.value ? stateAfter(Number(event.target.value)) : CLUSTER.last; changed(); } },
      element('option', { value: '' }, 'no failure'),
      ...FAILURES.map((each, place) => element('option', { value: String(place), selected: state === states.length + place }, `${each.title}: ${each.words}`)));
    tools.append(element('span', { class: 'slide' }, element('label', { for: 'failure' }, 'After the failure of'), failures));
  }
  if (states.length > 1) {
    const words = { before: 'Before', after: 'After', A: 'A', B: 'B' };
    const slider = element('input', {
      type: 'range', id: 'state', min: '0', max: String(states.length - 1), step: '1', value: String(CLUSTER.last),
      'aria-valuetext': words[states[CLUSTER.last]],
      oninput: (event) => {
        state = Number(event.target.value);
        if (byId('failure')) byId('failure').value = '';
        event.target.setAttribute('aria-valuetext', words[states[state]]);
        changed();
      },
    });
    tools.append(element('span', { class: 'slide' }, element('label', { for: 'state' }, words[states[0]]), slider,
      element('span', { 'aria-hidden': 'true' }, words[states[1]])));
  }
  said.textContent = describe();
  return part('The cluster', ...groupLines(), tools, said, element('div', { class: 'pannable' }, box), legend, nodeTable());
}

/** A node in a few lines. */
function toldNode(node, state) {
  const lines = [node.name, [node.zone, node.pool].filter(Boolean).join(' · ')];
  CLUSTER.resources.forEach((name, resource) => {
    const used = CLUSTER.used[state][resource][node.place];
    if (node.room[resource] || used) lines.push(`${name}: ${spelledOf(name, used, node.room[resource])} (${percent(shareOf(state, resource, node))})`);
  });
  for (const { name, share } of fillsOf().filter((each) => each.chances)) if (share(state, node)) lines.push(`${name}: ${percent(share(state, node))}`);
  lines.push(...marksOf(node, state).map(([sign, words]) => `${sign} ${words}`));
  return lines.filter(Boolean).join('\n');
}

/** The same as the map, for those who read it: a row a node. */
function nodeTable() {
  const { nodes, last, resources } = CLUSTER;
  const shown = resources.map((_, place) => place).filter((place) => resources[place] !== 'ephemeral-storage' && nodes.some((node) => node.room[place])).slice(0, 5);
  const heads = ['Node', 'Zone', 'Pool', 'State', ...shown.map((place) => resources[place])];
  const cell = (row, place) => {
    const node = nodes[row];
    switch (place) {
      case 0: return node.name;
      case 1: return node.zone || '–';
      case 2: return node.pool || '–';
      case 3: if (!isThere(node, last)) return 'gone';
        return marksOf(node).map(([sign, words]) => `${sign} ${words}`).join(', ') || 'open';
      default: {
        const [from, to] = [percent(shareOf(0, shown[place - 4], node)), percent(shareOf(last, shown[place - 4], node))];
        return from === to ? to : `${from} → ${to}`;
      }
    }
  };
  const table = bigTable({
    title: 'Nodes', heads, size: nodes.length, cell,
    drawn: (row, place, text) => (place === 0 ? nodeLink(text) : null), opened: (row) => openNode(nodes[row]),
  });
  const there = nodes.filter((node) => isThere(node, last)).length;
  const gone = nodes.length - there;
  return element('details', { open: nodes.length <= 12 }, element('summary', {}, `Every node (${there.toLocaleString('en')}${gone ? `, and ${gone} that ${gone === 1 ? 'is' : 'are'} gone` : ''})`), table);
}
