// What is known of one node or pod, beside the report.

let openedFrom = null;

function nodeLink(name, text) {
  if (!CLUSTER || !CLUSTER.places.has(name)) return text || name;
  return element('button', { type: 'button', class: 'link', onclick: () => openNode(CLUSTER.nodes[CLUSTER.places.get(name)]) }, text || name);
}

function podLink(name, text) {
  if (!isKnownPod(name)) return text || name;
  return element('button', { type: 'button', class: 'link', onclick: () => openPod(name) }, text || name);
}

function isKnownPod(name) {
  return MENTIONED.has(name) || Boolean(CLUSTER && CLUSTER.podPlaces.has(name));
}

function openPanel(kind, name, ...children) {
  const panel = byId('panel');
  if (panel.hidden) openedFrom = document.activeElement;
  panel.replaceChildren(
    element('button', { type: 'button', class: 'close', 'aria-label': 'Close the details', onclick: closePanel }, '×'),
    element('p', { class: 'quiet' }, kind), element('h2', {}, name), ...children);
  panel.hidden = false;
  document.body.classList.add('beside');
  panel.scrollTop = 0;
  panel.focus();
}

function closePanel() {
  byId('panel').hidden = true;
  document.body.classList.remove('beside');
  if (openedFrom && document.contains(openedFrom)) openedFrom.focus();
  openedFrom = null;
}

document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !byId('panel').hidden) closePanel();
}, { signal });

signal.addEventListener('abort', () => {
  openedFrom = null;
  closePanel();
});

function stateWords(state) {
  return { now: 'Asked for', before: 'Before', after: 'After', A: 'In A', B: 'In B' }[CLUSTER.states[state]];
}

/** A bar as long as a share, and the share in words. */
function meter(share) {
  const bar = element('span', { class: `meter${share > 1 ? ' over' : ''}`, 'aria-hidden': 'true' }, element('span'));
  bar.firstChild.style.width = `${Math.min(100 * (share || 0), 100)}%`;
  return element('span', { class: 'measured' }, bar, percent(share));
}

function openNode(node) {
  const { resources, states, last, pods } = CLUSTER;
  const facts = [['Zone', node.zone || '–'], ['Pool', node.pool || '–']];
  if (node.closed) facts.push(['Closed', node.closed]);
  if (node.taints) facts.push(['Taints', node.taints]);
  const shown = resources.map((_, place) => place).filter((place) => node.room[place] || states.some((_, state) => CLUSTER.used[state][place][node.place]));
  const rows = shown.map((place) => [
    resources[place], spelled(resources[place], node.room[place]),
    ...states.map((_, state) => meter(shareOf(state, place, node))),
    spelled(resources[place], node.room[place] - CLUSTER.used[last][place][node.place]),
  ]);
  const there = [...new Set(states.flatMap((_, state) => podsOn(node.place, state)))];
  const listed = there.map((pod) => {
    const [from, to] = [CLUSTER.at[0][pod] === node.place, CLUSTER.at[last][pod] === node.place];
    const fate = from && to ? 'stays' : to ? (CLUSTER.at[0][pod] < 0 ? 'arrives' : 'moves') : CLUSTER.at[last][pod] < 0 ? 'leaves' : 'moves';
    return { pod: pods[pod], fate, asks: CLUSTER.asks[CLUSTER.asksOf[pod]] };
  }).sort((a, b) => (a.fate === 'stays') - (b.fate === 'stays') || (a.pod < b.pod ? -1 : 1));
  const first = resources.indexOf('cpu');
  const second = resources.indexOf('memory');
  openPanel('Node', node.name,
    factList(facts),
    smallTable(`Resources of ${node.name}`, ['Resource', 'Has', ...states.map((_, state) => stateWords(state)), 'Free'], rows),
    element('h3', {}, counted(podsOn(node.place, last).length, 'pod')),
    bigTable({
      title: `Pods of ${node.name}`, heads: ['Pod', states.length > 1 ? '' : ' ', 'cpu', 'memory'], size: listed.length,
      cell: (row, place) => [
        listed[row].pod,
        states.length > 1 && listed[row].fate !== 'stays' ? `${SIGNS[listed[row].fate]} ${FATE_WORDS[listed[row].fate]}` : '',
        first < 0 ? '' : spelled('cpu', listed[row].asks[first]), second < 0 ? '' : spelled('memory', listed[row].asks[second]),
      ][place],
      drawn: (row, place, text) => (place === 0 ? podLink(text) : null),
    }),
    ...mentionsOf(node.name));
}

function factList(facts) {
  return element('dl', {}, ...facts.flatMap(([term, told]) => [element('dt', {}, term), element('dd', {}, told)]));
}

function openPod(name) {
  const facts = [];
  const place = CLUSTER ? CLUSTER.podPlaces.get(name) : undefined;
  if (place !== undefined) {
    const node = (state) => {
      const at = CLUSTER.at[state][place];
      return at < 0 ? 'no node' : nodeLink(CLUSTER.names[at]);
    };
    CLUSTER.states.forEach((_, state) => facts.push([CLUSTER.states.length > 1 ? stateWords(state) : 'Node', node(state)]));
    if (CLUSTER.states.length > 1 && !FACTS.again.has(name)) facts.push(['So it', `${SIGNS[fateOf(place)]} ${FATE_WORDS[fateOf(place)]}`]);
    const asks = CLUSTER.asks[CLUSTER.asksOf[place]];
    const told = CLUSTER.resources.map((resource, at) => (asks[at] && resource !== 'pods' ? `${resource} ${spelled(resource, asks[at])}` : '')).filter(Boolean);
    if (told.length) facts.push(['Asks for', told.join(', ')]);
  }
  if (FACTS.waiting.has(name)) facts.push(['Why it has none', FACTS.waiting.get(name)]);
  if (FACTS.kept.has(name)) facts.push(['Why it stays', FACTS.kept.get(name)]);
  if (FACTS.victims.has(name)) facts.push(['Evicted for', podLink(FACTS.victims.get(name))]);
  if (FACTS.again.has(name)) facts.push(['Recreated as', podLink(FACTS.again.get(name))]);
  for (const [old, made] of FACTS.again) if (made === name) facts.push(['Made in place of', podLink(old)]);
  const children = [factList(facts)];
  const scored = GIVEN.pods.scores[name];
  if (scored) children.push(element('h3', {}, `Scores of ${scored.node < 0 ? 'its node' : CLUSTER.names[scored.node]}`), scoreTable(scored.scores));
  else if (GIVEN.pods.left && place !== undefined && FACTS.waiting.get(name) === undefined && fateOf(place) === 'arrives') {
    children.push(element('p', { class: 'quiet' }, 'The scores of this pod are not in the report: it holds those of the first pods only. kwhatif explain tells them.'));
  }
  const matrix = GIVEN.matrices.find((each) => each.pod === name || each.alike.some(([pod]) => pod === name));
  if (matrix) children.push(element('p', {}, element('a', { href: `#${matrix.id}`, onclick: closePanel }, 'What every plugin says of every node')));
  else if (GIVEN.command && FACTS.waiting.has(name)) {
    children.push(element('h3', {}, 'What every plugin says of every node'), element('pre', { tabindex: '0', 'aria-label': 'The command that explains it' }, `${GIVEN.command} --explain ${quoted(name)}`));
  }
  openPanel('Pod', name, ...children, ...mentionsOf(name));
}

/** A word for a shell. */
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\"'\"'")}'`;
}

/** How a node's score comes about: from raw to 0..100, times the weight. */
function scoreTable(scores) {
  const total = scores.reduce((sum, [, , , , weighted]) => sum + weighted, 0);
  const rows = scores.map(([plugin, weight, raw, normalized, weighted]) => [plugin, String(raw), String(normalized), `× ${weight}`, `= ${weighted}`]);
  return smallTable('Scores', ['Plugin', 'Raw', '0 to 100', 'Weight', 'Score'], [...rows, ['Total', '', '', '', String(total)]], [1, 2, 3, 4]);
}

// --- where the report's tables speak of somebody

const MENTIONED = new Map();

/** Note which rows of the report's tables are about which pods. */
function noteMentions(tables) {
  tables.forEach((table, number) => {
    table.podColumns.forEach((place) => {
      for (let row = 0; row < table.size; row += 1) {
        const name = table.podName(row, place);
        if (!name) continue;
        const rows = MENTIONED.get(name);
        if (rows) rows.push([number, row]);
        else MENTIONED.set(name, [[number, row]]);
      }
    });
  });
}

function mentionsOf(name) {
  const rows = [...(MENTIONED.get(name) || [])];
  if (!rows.length) {
    TABLES.forEach((table, number) => table.nodes.forEach((place) => {
      for (let row = 0; row < table.size && rows.length < 40; row += 1) if (table.columns[place][row] === name) rows.push([number, row]);
    }));
  }
  const found = [];
  const seen = new Set();
  for (const [number, row] of rows.slice(0, 40)) {
    if (seen.has(`${number}/${row}`)) continue;
    seen.add(`${number}/${row}`);
    const table = TABLES[number];
    found.push(element('h3', {}, table.title), factList(table.heads.map((head, place) => [head || '–', table.columns[place][row]]).filter(([, text]) => text && text !== '<none>' && text !== '-' && text !== name)));
  }
  return found;
}
