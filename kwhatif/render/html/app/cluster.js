// The cluster: nodes in order of zone and pool, pods, who is where in each state, and what that leaves.

const SIGNS = { arrives: '+', leaves: '−', moves: '⇄', waits: '?', stays: '' };

function readCluster() {
  const map = GIVEN.map;
  const names = frontCoded(map.nodes.name);
  const [beginning, ending] = map.nodes.common;
  const shortName = (name) => `${beginning && '…'}${name.slice(beginning.length, name.length - ending.length)}${ending && '…'}`;
  const columns = ['zone', 'pool', 'closed', 'taints'].map((name) => column(map.nodes[name]));
  const nodes = names.map((name, place) => ({
    place, name, short: shortName(name), zone: columns[0][place], pool: columns[1][place], closed: columns[2][place],
    taints: columns[3][place], room: map.rooms[map.nodes.room[place]],
    arriving: 0, leaving: 0,
  }));
  const absent = map.nodes.absent.map((places) => new Set(places));
  const places = new Map(names.map((name, place) => [name, place]));
  const { pods, asksOf, at } = podsOf(map, places);
  const last = map.states.length - 1;
  const used = at.map((placed) => map.resources.map((_, resource) => {
    const sums = new Float64Array(nodes.length);
    const amounts = map.asks.map((row) => row[resource]);
    for (let pod = 0; pod < placed.length; pod += 1) if (placed[pod] >= 0) sums[placed[pod]] += amounts[asksOf[pod]];
    return sums;
  }));
  const fates = new Uint8Array(pods.length);
  const net = nodes.map(() => new Map());
  pods.forEach((name, pod) => {
    const [from, to] = [at[0][pod], at[last][pod]];
    fates[pod] = from === to ? (from < 0 ? FATES.indexOf('waits') : 0) : FATES.indexOf(from < 0 ? 'arrives' : to < 0 ? 'leaves' : 'moves');
    if (from === to) return;
    const alike = `${asksOf[pod]} ${name.slice(0, Math.max(name.lastIndexOf('-'), 0)) || name}`;
    if (to >= 0) net[to].set(alike, (net[to].get(alike) || 0) + 1);
    if (from >= 0) net[from].set(alike, (net[from].get(alike) || 0) - 1);
  });
  // Where one replica takes the place of another, the node has what it had.
  net.forEach((changes, place) => changes.forEach((by) => {
    if (by > 0) nodes[place].arriving += by;
    else nodes[place].leaving -= by;
  }));
  const podPlaces = new Map(pods.map((name, place) => [name, place]));
  return { states: map.states, resources: map.resources, nodes, absent, names, pods, last, used, fates, places, podPlaces, at, asks: map.asks, asksOf };
}

/** The pods of a map: its own, and those of the map that it stands on, which are there in each of its states. */
function podsOf(map, places) {
  const own = frontCoded(map.pods.name);
  if (!GIVEN.base) return { pods: own, asksOf: map.pods.asks, at: map.pods.at };
  const base = GIVEN.baseMap;
  base.unpacked ||= { pods: frontCoded(base.pods.name), nodes: frontCoded(base.nodes.name) };
  const { pods, nodes } = base.unpacked;
  const others = new Set([...own, ...frontCoded(map.gone)]);
  const stays = pods.map((_, pod) => pod).filter((pod) => !others.has(pods[pod]));
  const placeOf = nodes.map((name) => places.get(name) ?? -1);
  const at = stays.map((pod) => placeOf[base.pods.at[0][pod]] ?? -1);
  return {
    pods: stays.map((pod) => pods[pod]).concat(own),
    asksOf: stays.map((pod) => base.pods.asks[pod]).concat(map.pods.asks),
    at: map.pods.at.map((more) => at.concat(more)),
  };
}

/** The pods of a node in a state. */
function podsOn(place, state) {
  return CLUSTER.at[state].flatMap((at, pod) => (at === place ? [pod] : []));
}

/** Whether a node exists in a state; a failure takes nodes from the last one. */
function isThere(node, state) {
  return !CLUSTER.absent[Math.min(state, CLUSTER.last)].has(node.place);
}

const FATES = ['stays', 'arrives', 'leaves', 'moves', 'waits'];

const CLUSTER = GIVEN.map ? readCluster() : null;

const FACTS = {
  waiting: pairs(GIVEN.pods.waiting), again: pairs(GIVEN.pods.again), victims: pairs(GIVEN.pods.victims),
  kept: pairs(GIVEN.pods.kept),
};

/** The share of a resource that is asked for on a node, null where it has none and nobody asks. */
function shareOf(state, resource, node) {
  const room = node.room[resource];
  const used = CLUSTER.used[state][resource][node.place];
  if (!room) return used ? Infinity : null;
  return used / room;
}

/** What becomes of a pod in words: `stays`, `arrives`, ... */
function fateOf(pod) {
  return FATES[CLUSTER.fates[pod]];
}

const COMPARES = CLUSTER !== null && CLUSTER.states[0] === 'A';

/** The words for what becomes of pods, by fate. */
const FATE_WORDS = COMPARES
  ? { stays: 'same in both', arrives: 'only in B', leaves: 'only in A', moves: 'another node in B', waits: 'without a node' }
  : { stays: 'stays', arrives: 'new here', leaves: 'evicted', moves: 'moved', waits: 'pending' };
