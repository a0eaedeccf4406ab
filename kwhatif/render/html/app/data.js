// What the page was given, unpacked: the other side of render/html/drawings.py.

const GIVEN = JSON.parse(document.getElementById('data').textContent);

const LENGTHS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function frontCoded(packed) {
  if (!packed.n) return [];
  let last = '';
  return packed.f.split('\n').map((text) => (last = last.slice(0, LENGTHS.indexOf(text[0])) + text.slice(1)));
}

/** A packed column as an array of texts; `nodes` are the names that some columns hold places of. */
function column(packed, nodes) {
  if (packed === undefined) return [];
  if ('c' in packed) return new Array(packed.n).fill(packed.c);
  if ('m' in packed) return packed.m.map((place) => (place < 0 ? packed.d[-1 - place] : nodes[place]));
  if ('i' in packed) return packed.i.map((place) => packed.d[place]);
  return frontCoded(packed);
}

/** Two columns as a map from the first one's texts to the second one's. */
function pairs(packed) {
  const of = column(packed.of);
  return new Map(column(packed.pod).map((pod, place) => [pod, of[place]]));
}

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** An amount as everywhere in kwhatif: cpu in cores or millicores, bytes with a binary suffix. */
function spelled(resource, amount) {
  if (resource === 'cpu') return amount % 1000 === 0 ? String(amount / 1000) : `${amount}m`;
  if (resource !== 'memory' && resource !== 'ephemeral-storage' && !resource.startsWith('hugepages-')) return String(amount);
  let power = 0;
  while (power < BINARY.length - 1 && Math.abs(amount) >= 1024 ** (power + 1)) power += 1;
  return (amount / 1024 ** power).toFixed(1).replace(/\.0$/, '') + BINARY[power];
}

/** A part of an amount, cpu of both in one unit. */
function spelledOf(resource, part, whole) {
  if (resource === 'cpu' && (part % 1000 || whole % 1000)) return `${part}m of ${whole}m`;
  return `${spelled(resource, part)} of ${spelled(resource, whole)}`;
}

function counted(number, one, many) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many || `${one}s`}`;
}

function percent(share) {
  return share === null ? '–' : `${Math.round(100 * share)}%`;
}
