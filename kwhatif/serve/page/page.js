// The page of a server: the question stands in the address, and each answer is drawn in place by the script of the reports.
'use strict';

const PAGE = 'application/vnd.kwhatif.page+json';
const BY_ZONE = 'topology.kubernetes.io/zone';
const CHANGES = { cordon: 'cordoned', removeNode: 'removed', drain: 'drained' };
const SIDES = ['left', 'right'];
const MOST_ROWS = 200;

const byId = (id) => document.getElementById(id);
const scripts = new Promise((done) => { document.addEventListener('DOMContentLoaded', done); });
/** Whether this is one of two answers side by side. */
const isSide = window.parent !== window;

function parse(address) {
  try {
    return JSON.parse(decodeURIComponent(address) || '{}') || {};
  } catch { /* An address that somebody cut asks nothing. */
    return {};
  }
}

function readAddress() {
  return parse(location.hash.slice(1));
}

/** What is asked: manifests or a workload, nodes by what is done with them, and whether zones fail. */
function readState() {
  const said = readAddress();
  const names = (value) => (Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []);
  const text = (value) => (typeof value === 'string' ? value : '');
  return {
    manifests: text(said.manifests), workload: text(said.workload), replicas: text(said.replicas), zones: said.zones === true,
    cordon: names(said.cordon), removeNode: names(said.removeNode), drain: names(said.drain),
  };
}

/** The question and its fields. The last that was done decides: zones that fail, then drains, then pods. */
function questionOf({ manifests, workload, replicas, zones, cordon, removeNode, drain }) {
  const edits = { ...(cordon.length ? { cordon } : {}), ...(removeNode.length ? { removeNode } : {}) };
  if (zones) return ['outage', { by: [BY_ZONE], ...edits }];
  if (drain.length) return ['drain', { nodes: drain, ignoreDaemonsets: true, deleteEmptydirData: true, ...edits }];
  if (workload && replicas) return ['place', { scale: [`${workload}=${replicas}`], ...edits }];
  if (workload) return ['explain', { pods: [workload], ...edits }];
  if (manifests.trim()) return ['place', { manifests: [manifests], ...edits }];
  if (cordon.length || removeNode.length) return ['place', { withPending: true, ...edits }];
  return ['snapshot-info', {}];
}

function addressOf(said) {
  const held = Object.entries(said).filter(([, value]) => value && value.length !== 0);
  return held.length ? encodeURIComponent(JSON.stringify(Object.fromEntries(held))) : '';
}

/** Show what an address asks; what was shown before is one step back. */
function go(address) {
  history.pushState(null, '', address ? `#${address}` : location.pathname);
  show();
}

/** Ask something else. */
function change(more) {
  go(addressOf({ ...readState(), ...more }));
}

function made(name, attributes, ...children) {
  const element = Object.assign(document.createElement(name), attributes);
  element.append(...children);
  return element;
}

function button(text, onclick) {
  return made('button', { type: 'button', textContent: text, onclick });
}

/** What is asked at the moment, and what is drawn; both end when something else is asked. */
let [asking, drawing] = [new AbortController(), new AbortController()];
let asked = null;
/** The map of the cluster as it is, on which those of answers stand. */
let held = null;

async function answer(state) {
  const [question, fields] = questionOf(state);
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  document.documentElement.classList.remove('ready');
  tell('Asking…');
  try {
    const reply = await fetch(`/v1/${question}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', Accept: held ? `${PAGE}; map=${held.id}` : PAGE }, body: JSON.stringify(fields), signal,
    });
    const found = await reply.json();
    if (!reply.ok) throw new Error(found.detail);
    if (found.baseMap) held = { id: found.base, map: found.baseMap };
    else if (found.base) found.baseMap = held.map;
    await scripts;
    if (!signal.aborted) draw(question, found);
  } catch (error) {
    if (signal.aborted) return;
    drawing.abort();
    for (const each of ['main', 'parts']) byId(each).replaceChildren();
    tell(`Not answered: ${error.message}`, 'flag bad');
  }
}

function tell(words, look = '') {
  byId('state').textContent = words;
  byId('state').className = look;
}

/** Draw an answer in place of the one before. */
function draw(question, found) {
  const redrawn = byId('main').hasChildNodes();
  const focused = document.activeElement;
  const inPanel = byId('panel').contains(focused);
  drawing.abort();
  drawing = new AbortController();
  byId('asked').textContent = question;
  tell('');
  drawReport(found, drawing.signal);
  if (!redrawn) return;
  byId('said').textContent = found.verdict.words;
  if (inPanel || !focused.isConnected || focused === document.body) byId('main').focus({ preventScroll: true });
}

/** The script of the report says what it has drawn; the page that holds two of them compares. */
function noteAnswer(drawn) {
  if (isSide) window.parent.compare(window.frameElement.id, drawn);
}

/** By side: what is asked there, and what was drawn. */
const sides = {};
let drawnSides = {};

/** Which pods end on another node on the right than on the left, once both sides have answered. */
function compare(side, drawn) {
  drawnSides[side] = drawn;
  const [left, right] = SIDES.map((name) => drawnSides[name]);
  if (!left || !right) return;
  const pods = [...new Set([...left.ends.keys(), ...right.ends.keys()])].sort();
  const node = (ends, pod) => (ends.has(pod) ? ends.get(pod) || 'no node' : 'not there');
  const rows = pods.map((pod) => [pod, node(left.ends, pod), node(right.ends, pod)]).filter(([, one, other]) => one !== other);
  const line = (name, cells) => made('tr', {}, ...cells.map((text) => made(name, {}, text)));
  const words = rows.length ? `${rows.length.toLocaleString('en')} of ${pods.length.toLocaleString('en')} pods end elsewhere` : 'Every pod ends on the same node';
  byId('difference').textContent = rows.length > MOST_ROWS ? `${words}; the first ${MOST_ROWS}:` : `${words}.`;
  byId('differences').replaceChildren(...(rows.length ? [
    made('thead', {}, line('th', ['Pod', `Left: ${left.verdict}`, `Right: ${right.verdict}`])), made('tbody', {}, ...rows.slice(0, MOST_ROWS).map((cells) => line('td', cells))),
  ] : []));
}

/** The address follows what is asked in the frames. */
function follow(side, address) {
  sides[side] = address;
  const both = Object.fromEntries(SIDES.map((name) => [name, parse(sides[name])]));
  history.replaceState(null, '', `#${addressOf(both)}`);
}

/** Two answers side by side, each a page of its own. */
function showComparison(said) {
  drawing.abort();
  drawnSides = {};
  for (const side of SIDES) sides[side] = addressOf(said[side] || {});
  byId('sides').replaceChildren(...SIDES.map((side) => made('iframe', { id: side, title: `The answer on the ${side}`, src: `/#${sides[side]}` })));
  document.documentElement.classList.add('ready');
}

function showQuestion(state) {
  for (const name of ['manifests', 'workload', 'replicas']) {
    // What somebody has typed stays until something else of it is asked.
    if (!asked || asked[name] !== state[name]) byId(name).value = state[name];
  }
  asked = state;
  byId('changes').replaceChildren(...Object.entries(CHANGES).flatMap(([name, words]) => state[name].map((node) => {
    const back = button(`${node} ${words} ×`, () => change({ [name]: state[name].filter((each) => each !== node) }));
    back.setAttribute('aria-label', `${node} is ${words}: take that back`);
    return made('li', {}, back);
  })));
  if (isSide) window.parent.follow(window.frameElement.id, location.hash.slice(1));
  answer(state);
}

function show() {
  const said = readAddress();
  const compares = Boolean(said.left || said.right);
  for (const each of [byId('ask'), byId('main'), document.querySelector('.search')]) each.hidden = compares;
  byId('comparison').hidden = !compares;
  if (compares) showComparison(said);
  else {
    byId('sides').replaceChildren();
    showQuestion(readState());
  }
}

function begin() {
  byId('of-manifests').addEventListener('submit', (event) => {
    event.preventDefault();
    change({ zones: false, drain: [], workload: '', replicas: '', manifests: byId('manifests').value });
  });
  byId('of-workload').addEventListener('submit', (event) => {
    event.preventDefault();
    change({ zones: false, drain: [], workload: byId('workload').value.trim(), replicas: byId('replicas').value });
  });
  byId('zones').addEventListener('click', () => change({ zones: true }));
  byId('undo').addEventListener('click', () => history.back());
  byId('again').addEventListener('click', () => go(''));
  byId('beside').hidden = isSide;
  byId('beside').addEventListener('click', () => go(addressOf({ left: readAddress(), right: readAddress() })));
  for (const side of SIDES) byId(`keep-${side}`).addEventListener('click', () => go(sides[side]));
  document.addEventListener('dragover', (event) => { event.preventDefault(); byId('ask').classList.add('over'); });
  document.addEventListener('dragleave', () => byId('ask').classList.remove('over'));
  document.addEventListener('drop', async (event) => {
    event.preventDefault();
    byId('ask').classList.remove('over');
    const texts = await Promise.all([...event.dataTransfer.files].map((file) => file.text()));
    if (texts.length) change({ zones: false, drain: [], workload: '', replicas: '', manifests: texts.join('\n---\n') });
  });
  // The address holds the question, so links to parts of the page leave it alone.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    const part = link && byId(link.hash.slice(1));
    if (!part) return;
    event.preventDefault();
    part.tabIndex = -1;
    part.focus({ preventScroll: true });
    part.scrollIntoView();
  });
  window.addEventListener('popstate', show);
  show();
}

begin();
