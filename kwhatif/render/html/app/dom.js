// Elements, made in one way: texts become text nodes, never markup.

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

/** Do something whenever an element has another size, the first one included, until the page is drawn anew. */
function onResize(box, act) {
  const observer = new ResizeObserver(act);
  observer.observe(box);
  signal.addEventListener('abort', () => observer.disconnect());
}

/** Say something to those who listen to the page. */
function say(text) {
  byId('said').textContent = text;
}

let numbered = 0;

/** A part of the page with a title of its own, as a landmark. */
function part(title, ...children) {
  numbered += 1;
  const id = `part-${numbered}`;
  const heading = element('h2', { id: `${id}-title` }, title);
  return element('section', { id, 'aria-labelledby': `${id}-title` }, heading, ...children);
}

/** A plain table for a few rows of cells, each a text or an element. */
function smallTable(caption, heads, rows, numeric) {
  const cells = (row, name) => row.map((cell, place) => {
    const first = name === 'td' && place === 0;
    const attributes = { class: numeric && numeric.includes(place) ? 'number' : null };
    if (name === 'th') attributes.scope = 'col';
    if (first) attributes.scope = 'row';
    return element(first ? 'th' : name, attributes, cell);
  });
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    element('table', {},
      element('caption', { class: 'unseen' }, caption),
      element('thead', {}, element('tr', {}, ...cells(heads, 'th'))),
      element('tbody', {}, ...rows.map((row) => element('tr', {}, ...cells(row, 'td'))))));
}

/** A choice of one out of a few, as radio buttons that look like a switch. */
function choice(legend, options, chosen, changed) {
  numbered += 1;
  const name = `choice-${numbered}`;
  return element('fieldset', { class: 'choice' }, element('legend', {}, legend),
    ...options.map(([value, text], place) => element('label', {},
      element('input', {
        type: 'radio', name, value: String(place), checked: value === chosen,
        onchange: () => changed(value),
      }), element('span', {}, text))));
}
