// The page of a server: the question stands in the address, the answer is drawn by the script of the reports.
'use strict';

const PAGE = 'application/vnd.kwhatif.page+json';
const ZONE = 'topology.kubernetes.io/zone';
const CHANGES = { cordon: 'cordoned', removeNode: 'removed', drain: 'drained' };
const VERBS = { drain: 'Drain', cordon: 'Cordon', removeNode: 'Remove' };

const byId = (id) => document.getElementById(id);

/** What is asked: manifests, nodes by what is done with them, and whether zones fail. Nothing of it if the address says none. */
function readState() {
  let said = {};
  try {
    said = JSON.parse(decodeURIComponent(location.hash.slice(1)) || '{}');
  } catch { /* An address that somebody cut asks nothing. */ }
  const names = (value) => (Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []);
  return {
    manifests: typeof said.manifests === 'string' ? said.manifests : '', zones: said.zones === true,
    cordon: names(said.cordon), removeNode: names(said.removeNode), drain: names(said.drain),
  };
}

/** The question and its fields. The last that was done decides: zones that fail, then drains, then pods. */
function questionOf({ manifests, zones, cordon, removeNode, drain }) {
  const edits = { ...(cordon.length ? { cordon } : {}), ...(removeNode.length ? { removeNode } : {}) };
  if (zones) return ['outage', { by: [ZONE], ...edits }];
  if (drain.length) return ['drain', { nodes: drain, ignoreDaemonsets: true, deleteEmptydirData: true, ...edits }];
  if (manifests.trim()) return ['place', { manifests: [manifests], ...edits }];
  if (cordon.length || removeNode.length) return ['place', { withPending: true, ...edits }];
  return ['snapshot-info', {}];
}

/** Ask something else; the question before is one step back. */
function change(more) {
  const said = Object.fromEntries(Object.entries({ ...readState(), ...more }).filter(([, value]) => value && value.length !== 0));
  location.hash = encodeURIComponent(JSON.stringify(said));
}

function button(text, onclick) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.addEventListener('click', onclick);
  return made;
}

function load(source) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = source;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${source} cannot be loaded`));
    document.head.append(script);
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

/** What can be done with the node that the details are about. */
function offer(panel) {
  const heading = panel.querySelector('h2');
  if (!heading || panel.querySelector('.buttons') || heading.previousElementSibling.textContent !== 'Node') return;
  const row = document.createElement('p');
  row.className = 'buttons';
  for (const [name, verb] of Object.entries(VERBS)) {
    row.append(button(verb, () => change({ zones: false, [name]: [...new Set([...readState()[name], heading.textContent])] })));
  }
  heading.after(row);
}

function begin() {
  const state = readState();
  byId('manifests').value = state.manifests;
  byId('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    change({ manifests: byId('manifests').value, zones: false, drain: [] });
  });
  byId('zones').addEventListener('click', () => change({ zones: true }));
  byId('undo').addEventListener('click', () => history.back());
  for (const [name, words] of Object.entries(CHANGES)) {
    for (const node of state[name]) {
      const item = document.createElement('li');
      item.append(button(`${node} ${words} ×`, () => change({ [name]: state[name].filter((each) => each !== node) })));
      item.firstChild.setAttribute('aria-label', `${node} is ${words}: take that back`);
      byId('changes').append(item);
    }
  }
  document.addEventListener('dragover', (event) => { event.preventDefault(); byId('ask').classList.add('over'); });
  document.addEventListener('dragleave', () => byId('ask').classList.remove('over'));
  document.addEventListener('drop', async (event) => {
    event.preventDefault();
    const texts = await Promise.all([...event.dataTransfer.files].map((file) => file.text()));
    if (texts.length) change({ manifests: texts.join('\n---\n'), zones: false, drain: [] });
  });
  new MutationObserver(() => offer(byId('panel'))).observe(byId('panel'), { childList: true });
  window.addEventListener('hashchange', () => { if (!/^#(main|part-\d+)$/.test(location.hash)) location.reload(); });
  answer(state);
}

begin();
