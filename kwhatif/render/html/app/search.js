// Any node or pod, found by typing.

const MOST_FOUND = 40;

function searchable() {
  const names = CLUSTER ? CLUSTER.nodes.map((node) => [node.name, 'node']) : [];
  const pods = new Set(CLUSTER ? [...CLUSTER.pods].sort() : []);
  for (const name of MENTIONED.keys()) pods.add(name);
  for (const name of pods) names.push([name, 'pod']);
  return names.map(([name, kind]) => ({ name, kind, text: name.toLowerCase() }));
}

function beginSearch() {
  let all = null;
  const input = byId('find');
  const list = byId('found');
  let found = [];
  let at = -1;

  function close() {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
    at = -1;
  }

  function open(one) {
    close();
    if (one.kind === 'node') openNode(CLUSTER.nodes[CLUSTER.places.get(one.name)]);
    else openPod(one.name);
  }

  function mark(place) {
    at = (place + found.length) % found.length;
    [...list.children].forEach((item, number) => item.setAttribute('aria-selected', String(number === at)));
    input.setAttribute('aria-activedescendant', `found-${at}`);
    list.children[at].scrollIntoView({ block: 'nearest' });
  }

  function look() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) { close(); return; }
    all ||= searchable();
    const begin = [];
    const inside = [];
    for (const one of all) {
      if (!words.every((word) => one.text.includes(word))) continue;
      (one.text.startsWith(words[0]) || one.text.includes(`/${words[0]}`) ? begin : inside).push(one);
    }
    const total = begin.length + inside.length;
    found = [...begin, ...inside].slice(0, MOST_FOUND);
    list.replaceChildren(...found.map((one, number) => element('li', {
      role: 'option', id: `found-${number}`, 'aria-selected': 'false',
      onmousedown: (event) => { event.preventDefault(); open(one); },
    }, element('span', { class: 'kind' }, one.kind), one.name)));
    if (!total) list.replaceChildren(element('li', { class: 'quiet', role: 'option', 'aria-disabled': 'true' }, 'Nothing has this in its name.'));
    else if (total > found.length) list.append(element('li', { class: 'quiet', role: 'option', 'aria-disabled': 'true' }, `and ${(total - found.length).toLocaleString('en')} more`));
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    at = -1;
    say(total ? `${total.toLocaleString('en')} found` : 'Nothing found');
  }

  input.addEventListener('input', look, { signal });
  input.addEventListener('focus', look, { signal });
  input.addEventListener('blur', close, { signal });
  signal.addEventListener('abort', close);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' && found.length) { mark(at + 1); event.preventDefault(); }
    else if (event.key === 'ArrowUp' && found.length) { mark(at < 0 ? -1 : at - 1); event.preventDefault(); }
    else if (event.key === 'Enter' && found.length && !list.hidden) open(found[Math.max(at, 0)]);
    else if (event.key === 'Escape') { close(); event.stopPropagation(); }
  }, { signal });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      input.focus();
      input.select();
      event.preventDefault();
    }
  }, { signal });
}
