// The page of a server: the question stands in the address, the answer is drawn by the script of the reports.
'use strict';

const PAGE = 'application/vnd.kwhatif.page+json';
const BY_ZONE = 'topology.kubernetes.io/zone';
const CHANGES = { cordon: 'cordoned', removeNode: 'removed', drain: 'drained' };
const SIDES = ['left', 'right'];
const MOST_ROWS = 200;

const byId = (id) => document.getElementById(id);
/** Whether this is one of two answers side by side. */
const isSide = window.parent !== window;

function readAddress() {
  try {
    return JSON.parse(decodeURIComponent(location.hash.slice(1)) || '{}') || {};
  } catch { /* An address that somebody cut asks nothing. */
    return {};
  }
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
  return encodeURIComponent(JSON.stringify(Object.fromEntries(Object.entries(said).filter(([, value]) => value && value.length !== 0))));
}

/** Ask something else; the question before is one step back. */
function change(more) {
  location.hash = addressOf({ ...readState(), ...more });
}

function made(name, attributes, ...children) {
  const element = Object.assign(document.createElement(name), attributes);
  element.append(...children);
  return element;
}

function button(text, onclick) {
  return made('button', { type: 'button', textContent: text, onclick });
}

function load(source) {
  return new Promise((resolve, reject) => {
    const onerror = () => reject(new Error(`${source} cannot be loaded`));
    document.head.append(made('script', { src: source, onload: resolve, onerror }));
  });
}

async function answer(state) {
  const [question, fields] = questionOf(state);
  byId('asked').textContent = question;
  try {
    const charts = load('/page/echarts.js');
    const reply = await fetch(`/v1/${question}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', Accept: PAGE }, body: JSON.stringify(fields),
    });
    const text = await reply.text();
    if (!reply.ok) {
      const { detail } = JSON.parse(text);
      throw new Error(detail);
    }
    byId('data').textContent = text;
    await charts;
    byId('state').remove();
    await load('/page/report.js');
  } catch (error) {
    const said = byId('state') || document.createElement('p');
    said.textContent = `Not answered: ${error.message}`;
    said.className = 'flag bad';
    byId('main').prepend(said);
  }
}

/** The script of the report says what it has drawn; the page that holds two of them compares. */
function noteAnswer(drawn) {
  if (isSide) window.parent.compare(window.frameElement.id, drawn);
}

const drawnSides = {};

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

/** Two answers side by side, each a page of its own; the address follows what is asked in them. */
function beginComparison(said) {
  for (const each of ['ask', 'main']) byId(each).hidden = true;
  document.querySelector('.search').hidden = true;
  byId('comparison').hidden = false;
  const asked = SIDES.map((side) => addressOf(said[side] || {}));
  SIDES.forEach((side, place) => {
    const frame = made('iframe', { id: side, title: `The answer on the ${side}`, src: `/#${asked[place]}` });
    frame.addEventListener('load', () => {
      asked[place] = frame.contentWindow.location.hash.slice(1);
      const both = Object.fromEntries(SIDES.map((name, at) => [name, JSON.parse(decodeURIComponent(asked[at]) || '{}')]));
      history.replaceState(null, '', `#${addressOf(both)}`);
    });
    byId('sides').append(frame);
    byId(`keep-${side}`).addEventListener('click', () => { location.hash = asked[place]; });
  });
  document.documentElement.classList.add('ready');
}

function beginQuestion(state) {
  for (const name of ['manifests', 'workload', 'replicas']) byId(name).value = state[name];
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
  byId('beside').hidden = isSide;
  byId('beside').addEventListener('click', () => { location.hash = addressOf({ left: readAddress(), right: readAddress() }); });
  for (const [name, words] of Object.entries(CHANGES)) {
    for (const node of state[name]) {
      const back = button(`${node} ${words} ×`, () => change({ [name]: state[name].filter((each) => each !== node) }));
      back.setAttribute('aria-label', `${node} is ${words}: take that back`);
      byId('changes').append(made('li', {}, back));
    }
  }
  document.addEventListener('dragover', (event) => { event.preventDefault(); byId('ask').classList.add('over'); });
  document.addEventListener('dragleave', () => byId('ask').classList.remove('over'));
  document.addEventListener('drop', async (event) => {
    event.preventDefault();
    const texts = await Promise.all([...event.dataTransfer.files].map((file) => file.text()));
    if (texts.length) change({ zones: false, drain: [], workload: '', replicas: '', manifests: texts.join('\n---\n') });
  });
  answer(state);
}

window.addEventListener('hashchange', () => { if (!/^#(main|part-\d+)$/.test(location.hash)) location.reload(); });
const said = readAddress();
if (said.left || said.right) beginComparison(said);
else beginQuestion(readState());
