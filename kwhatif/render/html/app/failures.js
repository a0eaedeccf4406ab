// What a failure leaves of the cluster: one more state of the map for each, worked out when it is looked at.

const FAILURES = CLUSTER === null ? [] : GIVEN.failures || [];

/** By state: the places of nodes that are gone, and how many pods come to or leave each of the others. */
const LOSSES = new Map();

function stateAfter(number) {
  const { states, used, last, at, asks, asksOf, places, podPlaces } = CLUSTER;
  const state = states.length + number;
  if (used[state]) return state;
  const { nodes, pods, to } = FAILURES[number];
  const gone = new Set(column(nodes, CLUSTER.names).map((name) => places.get(name)));
  const left = used[last].map((row) => row.map((amount, place) => (gone.has(place) ? 0 : amount)));
  const [comes, leaves] = [new Map(), new Map()];
  const add = (place, pod, times, counts) => {
    if (place === undefined || place < 0 || gone.has(place)) return;
    counts.set(place, (counts.get(place) || 0) + 1);
    asks[asksOf[pod]].forEach((amount, resource) => { left[resource][place] += times * amount; });
  };
  const targets = column(to, CLUSTER.names);
  frontCoded(pods).forEach((name, row) => {
    const pod = podPlaces.get(name);
    if (pod === undefined) return;
    add(at[last][pod], pod, -1, leaves);
    add(places.get(targets[row]), pod, 1, comes);
  });
  used[state] = left;
  LOSSES.set(state, { gone, comes, leaves });
  return state;
}

/** What the failure of a zone comes to, for its place on the map. */
function zoneFailure(zone) {
  return FAILURES.findIndex((failure) => failure.kind === 'zone' && failure.name === zone);
}

/** What happens on a node in a failure, as a sign and in words. */
function marksAfter(node, { gone, comes, leaves }) {
  if (gone.has(node.place)) return [['⊗', 'fails']];
  return [['+', comes, 'come'], ['−', leaves, 'leave']].filter(([, counts]) => counts.has(node.place))
    .map(([sign, counts, word]) => [sign, `${counted(counts.get(node.place), 'pod')} ${word}`]);
}
