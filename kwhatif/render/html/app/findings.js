// What the gate found, each finding beside the lines of the manifest it is about.

function findingsPart() {
  const findings = GIVEN.findings;
  return part('Findings', ...(findings.length ? findings.map(findingBox) : [element('p', { class: 'quiet' }, 'No rule has anything to say.')]));
}

function findingBox(finding) {
  const level = 'exempted' in finding ? 'exempted' : finding.level;
  const signs = { error: '✗ error', warn: '! warning', exempted: '– exempted' };
  const told = [element('p', {}, finding.message)];
  if ('exempted' in finding) told.push(element('p', {}, `It does not count: ${finding.exempted}`));
  if (finding.hint) told.push(element('p', {}, element('strong', {}, 'Hint: '), finding.hint));
  if (finding.numbers.length) told.push(element('ul', { class: 'measures', 'aria-label': 'Measured' }, ...finding.numbers.map(([name, value]) => element('li', {}, `${name} `, element('strong', {}, value)))));
  const about = [finding.about, finding.at].filter(Boolean).join(' · ');
  const box = element('article', { class: `finding ${level}` },
    element('h3', {}, element('span', { class: 'level' }, signs[level]), finding.title),
    element('p', { class: 'quiet' }, `${finding.rule}${about ? ` · ${about}` : ''}`));
  const text = element('div', {}, ...told);
  box.append(finding.lines.length ? element('div', { class: 'beside-lines' }, text, excerpt(finding)) : text);
  return box;
}

function excerpt({ lines, at }) {
  return element('pre', { tabindex: '0', 'aria-label': `Lines of ${at}` },
    ...lines.map(([number, text]) => element('span', { class: 'line', 'data-line': number }, text || ' ')));
}
