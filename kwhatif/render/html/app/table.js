// Tables of any length: short ones stand there whole, of long ones only the rows in sight do. All can be sorted and
// searched.

const WHOLE = 60;
const ROW = 34;
const PRINTED = 300;
const SHORT = 60;
const NUMBER = /^-?[\d.,]+( ?%|m|[KMGTPE]i)?( → .*)?$|^[-–]$/;

function compareCells(a, b) {
  const [x, y] = [parseFloat(a), parseFloat(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y) && x !== y && !/[a-z]{4}/i.test(a)) return x - y;
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * A table.
 * `title` is its caption, `heads` its columns, `size` how many rows, `cell(row, column)` their texts, and
 * `drawn(row, column)` what to show in place of a text, if anything.
 */
function bigTable({ title, heads, size, cell, drawn, opened }) {
  let order = Array.from({ length: size }, (_, row) => row);
  let sorted = null;
  let wanted = '';
  const whole = size <= WHOLE;
  const numeric = heads.map((_, place) => {
    for (let row = 0; row < Math.min(size, 50); row += 1) if (!NUMBER.test(cell(row, place))) return false;
    return size > 0;
  });
  const body = element('tbody');
  const count = element('span', { class: 'count', role: 'status' });
  const buttons = heads.map((head, place) => element('button', { type: 'button', 'aria-label': head.trim() ? null : `Column ${place + 1}`, onclick: () => sort(place) }, head || '\u00a0'));
  const cells = buttons.map((button) => element('th', { scope: 'col' }, button));
  cells.forEach((head, place) => { if (numeric[place]) head.className = 'number'; });
  const table = element('table', { 'aria-rowcount': String(size + 1) },
    element('caption', { class: 'unseen' }, title),
    element('thead', {}, element('tr', {}, ...cells)), body);
  const view = element('div', { class: whole ? 'scroll' : 'scroll tall', tabindex: '0', role: 'region', 'aria-label': title }, table);
  const box = element('div', { class: whole ? 'rows' : 'rows windowed' });

  function row(at) {
    const made = element('tr', { 'aria-rowindex': String(at + 2) });
    for (let place = 0; place < heads.length; place += 1) {
      const text = cell(order[at], place);
      const shown = drawn ? drawn(order[at], place, text) : null;
      const attributes = whole ? {} : { title: text };
      if (numeric[place]) attributes.class = 'number';
      else if (text.length <= SHORT) attributes.class = 'short';
      made.append(element(place === 0 ? 'th' : 'td', { ...attributes, scope: place === 0 ? 'row' : null }, shown || text));
    }
    if (opened) made.addEventListener('click', (event) => { if (event.target.tagName !== 'BUTTON') opened(order[at]); });
    return made;
  }

  function spacer(rows) {
    const made = element('tr', { 'aria-hidden': 'true', class: 'spacer' }, element('td', { colspan: String(heads.length) }));
    made.firstChild.style.height = `${rows * ROW}px`;
    return made;
  }

  let [first, end] = [-1, -1];

  function draw(force) {
    const seen = Math.ceil((view.clientHeight || 480) / ROW);
    const top = Math.max(0, Math.min(Math.floor(view.scrollTop / ROW) - 10, order.length - seen));
    const from = whole ? 0 : top - (top % 2);
    const to = whole ? order.length : Math.min(order.length, from + seen + 22);
    if (!force && from === first && to === end) return;
    [first, end] = [from, to];
    const rows = [];
    if (from) rows.push(spacer(from));
    for (let at = from; at < to; at += 1) rows.push(row(at));
    if (to < order.length) rows.push(spacer(order.length - to));
    body.replaceChildren(...rows);
  }

  function arrange() {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    order = [];
    for (let at = 0; at < size; at += 1) {
      if (words.length) {
        const text = heads.map((_, place) => cell(at, place)).join(' ').toLowerCase();
        if (!words.every((word) => text.includes(word))) continue;
      }
      order.push(at);
    }
    if (sorted) {
      const { place, down } = sorted;
      order.sort((a, b) => (down ? -1 : 1) * compareCells(cell(a, place), cell(b, place)) || a - b);
    }
    table.setAttribute('aria-rowcount', String(order.length + 1));
    count.textContent = order.length === size ? counted(size, 'row') : `${order.length.toLocaleString('en')} of ${counted(size, 'row')}`;
    if (!whole) view.scrollTop = 0;
    draw(true);
  }

  function sort(place) {
    sorted = sorted && sorted.place === place ? (sorted.down ? null : { place, down: true }) : { place, down: false };
    cells.forEach((head, at) => {
      if (sorted && at === place) head.setAttribute('aria-sort', sorted.down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    arrange();
  }

  if (size > 8) {
    const filter = element('input', {
      type: 'search', placeholder: 'Filter these rows', 'aria-label': `Filter the rows of ${title}`, autocomplete: 'off', spellcheck: 'false',
      oninput: (event) => { wanted = event.target.value; arrange(); },
    });
    box.append(element('div', { class: 'bar' }, filter, count));
  }
  box.append(view);
  let waiting = false;
  view.addEventListener('scroll', () => {
    if (waiting || whole) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(false); });
  });
  if (!whole) {
    onResize(view, () => draw(false));
    const left = element('p', { class: 'printed' });
    box.append(left);
    onPrint(() => {
      const most = Math.min(order.length, PRINTED);
      body.replaceChildren(...Array.from({ length: most }, (_, at) => row(at)));
      left.textContent = most < order.length ? `${counted(order.length - most, 'more row')} not printed.` : '';
    }, () => draw(true));
  }
  arrange();
  return box;
}

const PRINT = { before: [], after: [] };

/** Do something before the page is printed, and undo it. */
function onPrint(before, after) {
  PRINT.before.push(before);
  PRINT.after.push(after);
}

window.addEventListener('beforeprint', () => PRINT.before.forEach((each) => each()), { signal });
window.addEventListener('afterprint', () => PRINT.after.forEach((each) => each()), { signal });
