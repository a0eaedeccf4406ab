// What the page of a server adds to an answer that is drawn: what can be done with a node or pod, and where pods end.

/** What can be asked about the node or pod of the details. */
function actsOf(kind, name) {
  if (kind === 'Pod') {
    return CLUSTER && CLUSTER.podPlaces.has(name) ? [['Where would it go today?', () => change({ zones: false, drain: [], workload: name, replicas: '' })]] : [];
  }
  const more = (field, value) => () => change({ zones: false, [field]: [...new Set([...readState()[field], value])] });
  const { zone } = CLUSTER.nodes[CLUSTER.places.get(name)];
  return [
    ['Drain', more('drain', name)], ['Cordon', more('cordon', name)], ['Remove', more('removeNode', name)],
    ...(zone ? [[`Remove zone ${zone}`, more('removeNode', `${BY_ZONE}=${zone}`)]] : []),
  ];
}

const watching = new MutationObserver(() => {
  const heading = byId('panel').querySelector('h2');
  if (!heading || byId('panel').querySelector('.buttons')) return;
  const acts = actsOf(heading.previousElementSibling.textContent, heading.textContent);
  if (acts.length) heading.after(element('p', { class: 'buttons' }, ...acts.map(([text, onclick]) => element('button', { type: 'button', onclick }, text))));
});
watching.observe(byId('panel'), { childList: true });
signal.addEventListener('abort', () => watching.disconnect());

noteAnswer({
  verdict: GIVEN.verdict.words,
  ends: CLUSTER ? new Map(CLUSTER.pods.map((pod, place) => [pod, CLUSTER.names[CLUSTER.at[CLUSTER.last][place]] || ''])) : new Map(),
});
