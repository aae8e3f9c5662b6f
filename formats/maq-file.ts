import type { HostMaqTree } from '../algorithms/maq-tree/host-tree.ts';
import type { Domain } from '../algorithms/quadrants/domain.ts';
import { FormatError } from '../primitives/errors.ts';

/** A tree with what it takes to ask it: the square of the plane that it splits, and how often. */
export interface MaqFile {
  readonly domain: Domain;
  readonly levels: number;
  readonly tree: HostMaqTree;
}

export interface OpenMaqOptions {
  /** What errors call the bytes. */
  readonly file?: string | undefined;
  /** Whether the checksum is looked at, which reads all of the file. Default true. */
  readonly verify?: boolean | undefined;
}

/**
 * The file, all little-endian: a header of 64 bytes, then the columns one after the other, as 32-bit words.
 *
 *      0  8 bytes   the magic
 *      8  u32       version
 *     12  u32       levels
 *     16  u32       nodes
 *     20  u32       entries
 *     24  f64 × 3   left, bottom and size of the domain
 *     48  u32 × 2   zero
 *     56  u32 × 2   Fletcher-64 of all other words
 */
const MAGIC = 'MAQTREE\n';
const VERSION = 1;
const HEADER_WORDS = 16;
const CHECKSUM_WORD = 14;
const NODE_COLUMNS = 7;
const ENTRY_COLUMNS = 3;

/**
 * A tree as the bytes of a file.
 *
 * @example
 * const none = new Uint32Array();
 * const nodes = { code: { lo: none, hi: none }, level: none, firstChild: none, childCount: none, firstEntry: none, entryCount: none };
 * const tree = { nodes, entries: { polygon: none, set: none, boundary: none } };
 * encodeMaq({ domain: WORLD, levels: 12, tree }).byteLength; // 64
 */
export function encodeMaq({ domain, levels, tree }: MaqFile): ArrayBuffer {
  const columns = columnsOf(tree);
  const length = columns.reduce((sum, column) => sum + column.length, HEADER_WORDS);
  const words = new Uint32Array(length);
  const header = new DataView(words.buffer);
  for (let i = 0; i < MAGIC.length; i++) header.setUint8(i, MAGIC.charCodeAt(i));
  header.setUint32(8, VERSION, true);
  header.setUint32(12, levels, true);
  header.setUint32(16, tree.nodes.level.length, true);
  header.setUint32(20, tree.entries.polygon.length, true);
  for (const [i, value] of [domain.left, domain.bottom, domain.size].entries())
    header.setFloat64(24 + 8 * i, value, true);
  let at = HEADER_WORDS;
  for (const column of columns) {
    words.set(column, at);
    at += column.length;
  }
  words.set(checksumOf(words), CHECKSUM_WORD);
  return words.buffer;
}

function columnsOf({ nodes, entries }: HostMaqTree): Uint32Array[] {
  const { code, level, firstChild, childCount, firstEntry, entryCount } = nodes;
  const { polygon, set, boundary } = entries;
  return [code.lo, code.hi, level, firstChild, childCount, firstEntry, entryCount, polygon, set, boundary];
}

/**
 * Opens a tree in the bytes of a file. The columns are views of these bytes, which may be shared memory or a mapped file;
 * only bytes that do not start at a whole word are copied.
 *
 * @throws `FormatError` `maq/foreign` for bytes that are no such file, `maq/newer` for one of a later version, `maq/truncated`
 * for one that is shorter or longer than it says, `maq/damaged` where the checksum tells that bytes have changed.
 * @example
 * const none = new Uint32Array();
 * const nodes = { code: { lo: none, hi: none }, level: none, firstChild: none, childCount: none, firstEntry: none, entryCount: none };
 * const bytes = new Uint8Array(encodeMaq({ domain: WORLD, levels: 12, tree: { nodes, entries: { polygon: none, set: none, boundary: none } } }));
 * openMaq(bytes).levels; // 12
 */
export function openMaq(bytes: Uint8Array, { file = 'tree', verify = true }: OpenMaqOptions = {}): MaqFile {
  requireHeader(bytes, file);
  const own = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  const header = new DataView(own.buffer, own.byteOffset, 4 * HEADER_WORDS);
  const [nodes, entries] = [header.getUint32(16, true), header.getUint32(20, true)];
  const expected = 4 * (HEADER_WORDS + NODE_COLUMNS * nodes + ENTRY_COLUMNS * entries);
  if (own.byteLength !== expected) {
    throw new FormatError('maq/truncated', 'The tree is not as long as it says.', {
      expected: `${expected} bytes`,
      got: `${own.byteLength} bytes`,
      remedy: 'Copy the file again, or build it again.',
      place: { file },
    });
  }
  const words = new Uint32Array(own.buffer, own.byteOffset, own.byteLength / 4);
  if (verify) requireChecksum(words, file);
  const column = (start: number, length: number): Uint32Array => words.subarray(start, start + length);
  const nodeColumn = (i: number): Uint32Array => column(HEADER_WORDS + i * nodes, nodes);
  const entryColumn = (i: number): Uint32Array => column(HEADER_WORDS + NODE_COLUMNS * nodes + i * entries, entries);
  return {
    domain: {
      left: header.getFloat64(24, true),
      bottom: header.getFloat64(32, true),
      size: header.getFloat64(40, true),
    },
    levels: header.getUint32(12, true),
    tree: {
      nodes: {
        code: { lo: nodeColumn(0), hi: nodeColumn(1) },
        level: nodeColumn(2),
        firstChild: nodeColumn(3),
        childCount: nodeColumn(4),
        firstEntry: nodeColumn(5),
        entryCount: nodeColumn(6),
      },
      entries: { polygon: entryColumn(0), set: entryColumn(1), boundary: entryColumn(2) },
    },
  };
}

function requireHeader(bytes: Uint8Array, file: string): void {
  const magic = String.fromCharCode(...bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC.slice(0, magic.length) || magic.length === 0) {
    throw new FormatError('maq/foreign', 'This is no file of a MAQ-tree.', {
      expected: JSON.stringify(MAGIC),
      got: magic.length === 0 ? 'no bytes' : JSON.stringify(magic),
      place: { file },
    });
  }
  if (bytes.length < 4 * HEADER_WORDS) {
    throw new FormatError('maq/truncated', 'The tree ends in its header.', {
      expected: `${4 * HEADER_WORDS} bytes or more`,
      got: `${bytes.length} bytes`,
      remedy: 'Copy the file again, or build it again.',
      place: { file },
    });
  }
  const version = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  if (version === VERSION) return;
  throw new FormatError('maq/newer', 'The tree was written by another version of Quadrille.', {
    expected: `version ${VERSION}`,
    got: `version ${version}`,
    remedy: 'Install a version that knows it, or build the tree again.',
    place: { file },
  });
}

function requireChecksum(words: Uint32Array, file: string): void {
  const [low, high] = checksumOf(words);
  if (words[CHECKSUM_WORD] === low && words[CHECKSUM_WORD + 1] === high) return;
  const show = (a: number, b: number): string => [b, a].map((word) => word.toString(16).padStart(8, '0')).join('');
  throw new FormatError('maq/damaged', 'Bytes of the tree have changed since it was written.', {
    expected: `checksum ${show(words[CHECKSUM_WORD]!, words[CHECKSUM_WORD + 1]!)}`,
    got: show(low, high),
    remedy: 'Copy the file again, or build it again.',
    place: { file },
  });
}

/** Fletcher, An Arithmetic Checksum for Serial Transmissions, 1982, over words, modulo 2³² − 1; its own words left out. */
function checksumOf(words: Uint32Array): [low: number, high: number] {
  const modulus = 2 ** 32 - 1;
  let [sum, sums] = [0, 0];
  for (let i = 0; i < words.length; i++) {
    if (i === CHECKSUM_WORD || i === CHECKSUM_WORD + 1) continue;
    sum += words[i]!;
    if (sum >= modulus) sum -= modulus;
    sums += sum;
    if (sums >= modulus) sums -= modulus;
  }
  return [sum, sums];
}
