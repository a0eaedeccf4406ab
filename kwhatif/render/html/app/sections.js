// The report itself: the verdict, what it stands on, and the sections with their tables.

const TONES = { good: ['✓', 'Yes'], bad: ['✗', 'No'], warn: ['!', 'With warnings'], differs: ['≠', 'Different'], plain: ['i', ''] };

const TABLES = GIVEN.tables.map((table) => {
  const columns = table.columns.map((packed) => column(packed, CLUSTER ? CLUSTER.names : []));
  const heads = table.heads.map((head, place) => (place < table.names ? head.slice(0, 1).toUpperCase() + head.slice(1) : head));
  const namespace = table.heads.indexOf('namespace');
  const podColumns = table.heads.map((head, place) => (/^(pod|for|replacement|recreated as)$/.test(head) ? place : -1)).filter((place) => place >= 0);
  const podName = (row, place) => {
    const text = columns[place][row];
    if (text.includes('/')) return text.replace(/ \(.*$/, '');
    return namespace >= 0 && table.heads[place] === 'pod' ? `${columns[namespace][row]}/${text}` : '';
  };
  return { heads, columns, nodes: table.nodes, size: columns.length ? columns[0].length : 0, podColumns, podName, title: '' };
});

function verdictPart() {
  const { tone, words, text } = GIVEN.verdict;
  const [sign, answer] = TONES[tone];
  return element('section', { class: `verdict ${tone}`, 'aria-labelledby': 'verdict' },
    element('span', { class: 'sign', 'aria-hidden': 'true' }, sign),
    element('div', {}, element('h1', { id: 'verdict' }, words), element('p', {}, answer ? element('span', { class: 'unseen' }, `${answer}. `) : null, text)));
}

function standsOnPart() {
  if (!GIVEN.standsOn.length && !GIVEN.notes.length) return null;
  const children = [];
  for (const side of GIVEN.standsOn) {
    const touching = side.gaps.filter((gap) => gap.number);
    const others = side.gaps.filter((gap) => !gap.number);
    if (side.side) children.push(element('h3', {}, `Side ${side.side}`));
    children.push(...side.lines.map((line) => element('p', {}, line)));
    if (touching.length) {
      children.push(element('p', { class: 'flag warn' }, `! ${counted(touching.length, 'gap touches', 'gaps touch')} pods that were asked about.`));
      children.push(element('ul', { class: 'gaps' }, ...touching.map((gap) => element('li', {},
        element('strong', {}, gap.what), `: ${gap.effect} `, element('span', { class: 'quiet' },
          ...gap.pods.slice(0, 5).flatMap((pod, place) => [place ? ', ' : '', podLink(pod)]), gap.number > 5 ? ` and ${gap.number - Math.min(5, gap.pods.length)} more` : '')))));
    } else children.push(element('p', { class: 'flag good' }, '✓ No gap touches the pods that were asked about.'));
    if (others.length) {
      children.push(element('details', {}, element('summary', {}, counted(others.length, 'gap touches none of them', 'gaps touch none of them')),
        element('ul', { class: 'gaps' }, ...others.map((gap) => element('li', {}, element('strong', {}, gap.what), `: ${gap.effect}`)))));
    }
  }
  if (GIVEN.notes.length) children.push(element('details', {}, element('summary', {}, counted(GIVEN.notes.length, 'note')), element('ul', {}, ...GIVEN.notes.map((note) => element('li', {}, note)))));
  return part('What it is based on', ...children);
}

function tableElement(number, title) {
  const table = TABLES[number];
  table.title = table.title || title;
  return bigTable({
    title, heads: table.heads, size: table.size,
    cell: (row, place) => table.columns[place][row],
    drawn: (row, place, text) => {
      if (table.nodes.includes(place)) return nodeLink(text);
      if (table.podColumns.includes(place)) return podLink(table.podName(row, place), text);
      return null;
    },
    opened: (row) => {
      const pod = table.podColumns.map((place) => table.podName(row, place)).find(isKnownPod);
      const node = table.nodes.map((place) => table.columns[place][row]).find((name) => CLUSTER && CLUSTER.places.has(name));
      if (pod) openPod(pod);
      else if (node) openNode(CLUSTER.nodes[CLUSTER.places.get(node)]);
    },
  });
}

function sectionPart({ title, blocks }) {
  return part(title, ...blocks.flatMap((block) => {
    if ('table' in block) return [tableElement(block.table, title)];
    if ('heading' in block) return [element('h3', {}, block.heading)];
    if ('facts' in block) return [factList(block.facts)];
    return block.listed ? [element('ul', {}, ...block.lines.map((line) => element('li', {}, line.trim())))] : block.lines.map((line) => element('p', {}, line));
  }));
}
