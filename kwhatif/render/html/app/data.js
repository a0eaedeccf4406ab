// What the page was given, unpacked: the other side of render/html/drawings.py.

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

const MANY_MILLICORES = 10000;
const MANY_UNITS = 10000;

function isBytes(resource) {
  return resource === 'memory' || resource === 'ephemeral-storage' || resource.startsWith('hugepages-');
}

/** The largest power of 1024 that an amount has at least one of. */
function binaryPower(amount) {
  let power = 0;
  while (power < BINARY.length - 1 && Math.abs(amount) >= 1024 ** (power + 1)) power += 1;
  return power;
}

function formatNumber(number, digits) {
  return number.toLocaleString('en', { maximumFractionDigits: digits });
}

/** What one pod or node has: less than ten cores exactly, in millicores if need be; bytes with a binary suffix. */
function spelled(resource, amount) {
  if (resource === 'cpu') return amount % 1000 === 0 || Math.abs(amount) >= MANY_MILLICORES ? formatNumber(amount / 1000, 1) : `${amount}m`;
  if (!isBytes(resource)) return formatNumber(amount, 0);
  const power = binaryPower(amount);
  return formatNumber(amount / 1024 ** power, 1) + BINARY[power];
}

/** A part of an amount, both in one unit: cores, and of bytes the unit that the part is told in, if the whole is not too many of it. */
function spelledOf(resource, part, whole) {
  if (resource === 'cpu') {
    const digits = whole < MANY_MILLICORES ? 2 : 1;
    return `${formatNumber(part / 1000, digits)} of ${formatNumber(whole / 1000, digits)} ${whole === 1000 ? 'core' : 'cores'}`;
  }
  if (!isBytes(resource)) return `${formatNumber(part, 0)} of ${formatNumber(whole, 0)}`;
  const least = binaryPower(part);
  const power = part && whole / 1024 ** least < MANY_UNITS ? least : binaryPower(whole);
  return `${formatNumber(part / 1024 ** power, 1)} of ${formatNumber(whole / 1024 ** power, 1)}${BINARY[power]}`;
}

function counted(number, one, many) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many || `${one}s`}`;
}

function percent(share) {
  return share === null ? '–' : `${Math.round(100 * share)}%`;
}
