import {
  aHostTree,
  type HostMaqTree,
  type HostMaqTreeWithEdges,
  hasEdges,
} from '../../algorithms/maq-tree/host-tree.ts';
import type { MaqExtent } from '../../algorithms/maq-tree/tree.ts';
import { aDomain, type Domain, threeNumbers } from '../../algorithms/quadrants/domain.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import {
  aFlag,
  anArrayOf,
  anInstance,
  aRecord,
  aText,
  aWhole,
  type FieldKinds,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';

/**
 * A quadtree of polygons (MAQ tree) with the data that queries need: its domain, the number of levels, and the names of
 * the polygons.
 */
export interface MaqFile {
  readonly domain: Domain;
  /** The requested number of levels. The tree may have fewer. */
  readonly levels: number;
  /** The sets of polygons. An entry of the tree refers to a set by its index in this list. */
  readonly sets: readonly MaqSet[];
  readonly tree: HostMaqTree | HostMaqTreeWithEdges;
}

/** A named set of polygons in a tree. */
export interface MaqSet {
  readonly name: string;
  /** Coordinate reference system, if known. */
  readonly crs?: string | undefined;
  /** Names of the polygons. The index of a name is the number of the polygon in the set. */
  readonly names: readonly string[];
}

export interface OpenMaqOptions {
  /** Name of the file in error messages. */
  readonly file?: string | undefined;
  /** Whether to verify the checksum, which requires reading the whole file. Default true. */
  readonly verify?: boolean | undefined;
}

const maqFields: FieldKinds<MaqFile> = {
  domain: threeNumbers,
  levels: aWhole(),
  sets: anArrayOf(aRecord<MaqSet>({ name: aText, crs: optional(aText), names: anArrayOf(aText) })),
  tree: aHostTree,
};
const aMaqFile: Kind = aRecord<MaqFile>(maqFields);
/** Validator of a tree file that is to be drawn. Unlike `aMaqFile`, it also checks that the domain is valid. */
export const aDrawnFile: Kind = aRecord<MaqFile>({ ...maqFields, domain: aDomain });

const OPEN: Kind = someOptions<OpenMaqOptions>({ file: optional(aText), verify: optional(aFlag) });

/**
 * Layout of a file, in little-endian order: a header of 80 bytes, then the columns of the tree as 32-bit words, then
 * the sets as JSON in UTF-8. The JSON is padded with spaces to a multiple of four bytes.
 *
 *      0  8 bytes   magic number
 *      8  u32       version: 2 if a polygon has several sheets (groups of parts that do not overlap), else 1
 *     12  u32       requested number of levels
 *     16  u32       number of nodes
 *     20  u32       number of entries
 *     24  f64 × 3   left, bottom and size of the domain
 *     48  u32       level of the smallest quadrants (the root has level 0)
 *     52  u32       largest index of a polygon, plus 1
 *     56  u32 × 2   checksum (Fletcher-64) of the 16-bit halves of all other words
 *     64  u32       1 if the tree has edges, else 0
 *     68  u32       number of pairs of an edge and a quadrant such that the edge passes through the quadrant
 *     72  u32       number of edges
 *     76  u32       length of the padded JSON in 32-bit words
 */
const MAGIC = 'MAQTREE\n';
/** Versions of the format that this reader supports. */
const VERSIONS: readonly number[] = [1, 2];
const HEADER_WORDS = 20;
const CHECKSUM_WORD = 14;
const NODE_COLUMNS = 8;
const ENTRY_COLUMNS = 3;
const EDGE_COLUMNS = 3;

/**
 * Encodes a tree as the bytes of a file.
 *
 * @example
 * const none = new Uint32Array();
 * const nodes = { code: { lo: none, hi: none }, level: none, firstChild: none, childCount: none, firstEntry: none, entryCount: none, next: none };
 * const tree = { nodes, entries: { polygon: none, set: none, boundary: none }, extent: { levels: 0, sets: 1, polygons: 0 } };
 * encodeMaq({ domain: WORLD, levels: 12, sets: [{ name: 'birds', names: [] }], tree }).byteLength; // 108
 */
export function encodeMaq(file: MaqFile): ArrayBuffer {
  requireArguments('encodeMaq', { file }, { file: aMaqFile });
  const { domain, levels, sets, tree } = file;
  const columns = [...columnsOf(tree), wordsOfSets(sets)];
  const length = columns.reduce((sum, column) => sum + column.length, HEADER_WORDS);
  const words = new Uint32Array(length);
  const header = new DataView(words.buffer);
  for (let i = 0; i < MAGIC.length; i++) header.setUint8(i, MAGIC.charCodeAt(i));
  const { edge, ends } = hasEdges(tree) ? tree.edges : { edge: [], ends: [] };
  const numbers: [at: number, value: number][] = [
    [8, tree.entries.boundary.includes(2) ? 2 : 1],
    [12, levels],
    [16, tree.nodes.level.length],
    [20, tree.entries.polygon.length],
    [48, tree.extent.levels],
    [52, tree.extent.polygons],
    [64, hasEdges(tree) ? 1 : 0],
    [68, edge.length],
    [72, ends.length / 4],
    [76, columns.at(-1)!.length],
  ];
  for (const [at, value] of numbers) header.setUint32(at, value, true);
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

/**
 * Encodes the sets as JSON. If the names of a set's polygons are just `0`, `1`, `2` …, only the number of polygons is
 * written.
 */
function wordsOfSets(sets: readonly MaqSet[]): Uint32Array {
  const written = sets.map(({ name, crs, names }) => ({
    name,
    crs,
    names: names.every((each, number) => each === String(number)) ? names.length : names,
  }));
  const bytes = new TextEncoder().encode(JSON.stringify(written));
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4).fill(0x20);
  padded.set(bytes);
  return new Uint32Array(padded.buffer);
}

function columnsOf(tree: HostMaqTree | HostMaqTreeWithEdges): (Uint32Array | Int32Array)[] {
  const { code, level, firstChild, childCount, firstEntry, entryCount, next } = tree.nodes;
  const { polygon, set, boundary } = tree.entries;
  const columns = [
    code.lo,
    code.hi,
    level,
    firstChild,
    childCount,
    firstEntry,
    entryCount,
    next,
    polygon,
    set,
    boundary,
  ];
  if (!hasEdges(tree)) return columns;
  const { corner, first, count, edge, ends } = tree.edges;
  return [...columns, corner, first, count, edge, ends];
}

/**
 * Opens a tree from the bytes of a file. The columns are views of these bytes, which may be shared memory or a mapped
 * file. The bytes are copied only if they do not start at a multiple of four.
 *
 * @throws `FormatError` `maq/foreign` for bytes of another format, `maq/newer` for another version, `maq/truncated` if
 * the length differs from that in the header, `maq/damaged` if the checksum does not match.
 * @example
 * const none = new Uint32Array();
 * const nodes = { code: { lo: none, hi: none }, level: none, firstChild: none, childCount: none, firstEntry: none, entryCount: none, next: none };
 * const tree = { nodes, entries: { polygon: none, set: none, boundary: none }, extent: { levels: 0, sets: 1, polygons: 0 } };
 * const bytes = new Uint8Array(encodeMaq({ domain: WORLD, levels: 12, sets: [{ name: 'birds', names: [] }], tree }));
 * openMaq(bytes).sets; // [{ name: 'birds', names: [] }]
 */
export function openMaq(bytes: Uint8Array, options: OpenMaqOptions = {}): MaqFile {
  requireArguments('openMaq', { bytes, options }, { bytes: anInstance(Uint8Array), options: OPEN });
  const { file = 'tree', verify = true } = options;
  requireHeader(bytes, file);
  const own = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  const header = new DataView(own.buffer, own.byteOffset, 4 * HEADER_WORDS);
  const number = (at: number): number => header.getUint32(at, true);
  const [nodes, entries, passages, edges] = [number(16), number(20), number(68), number(72)];
  const withEdges = number(64) === 1;
  const lengths = [
    ...Array.from({ length: NODE_COLUMNS }, () => nodes),
    ...Array.from({ length: ENTRY_COLUMNS + (withEdges ? EDGE_COLUMNS : 0) }, () => entries),
    ...(withEdges ? [passages, 4 * edges] : []),
    number(76),
  ];
  requireLength(own, 4 * lengths.reduce((sum, length) => sum + length, HEADER_WORDS), file);
  const words = new Uint32Array(own.buffer, own.byteOffset, own.byteLength / 4);
  if (verify) requireChecksum(words, file);
  let at = HEADER_WORDS;
  const columns = lengths.map((length) => {
    at += length;
    return words.subarray(at - length, at);
  });
  const sets = setsIn(columns.pop()!, file);
  const extent = { levels: number(48), sets: sets.length, polygons: number(52) };
  return {
    domain: {
      left: header.getFloat64(24, true),
      bottom: header.getFloat64(32, true),
      size: header.getFloat64(40, true),
    },
    levels: number(12),
    sets,
    tree: treeOf(columns, extent),
  };
}

function treeOf(columns: readonly Uint32Array[], extent: MaqExtent): HostMaqTree | HostMaqTreeWithEdges {
  const [lo, hi, level, firstChild, childCount, firstEntry, entryCount, next, polygon, set, boundary, ...rest] =
    columns as [Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint32Array, ...Uint32Array[]];
  const tree = {
    nodes: {
      code: { lo, hi },
      level,
      firstChild,
      childCount,
      firstEntry: firstEntry!,
      entryCount: entryCount!,
      next: next!,
    },
    entries: { polygon: polygon!, set: set!, boundary: boundary! },
    extent,
  };
  const [corner, first, count, edge, ends] = rest;
  if (ends === undefined) return tree;
  const coordinates = new Int32Array(ends.buffer, ends.byteOffset, ends.length);
  return { ...tree, edges: { corner: corner!, first: first!, count: count!, edge: edge!, ends: coordinates } };
}

/** Decodes the sets. Their structure is checked, because the checksum may not have been verified. */
function setsIn(words: Uint32Array, file: string): MaqSet[] {
  try {
    // `TextDecoder` does not accept shared memory.
    const bytes = Uint8Array.from(new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
    const written = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as WrittenSet[];
    return written.map(({ name, crs, names }) => ({
      name,
      ...(crs === undefined ? {} : { crs }),
      names: typeof names === 'number' ? Array.from({ length: names }, (_, number) => String(number)) : names,
    }));
  } catch (cause) {
    throw new FormatError('maq/damaged', 'The sets of the tree cannot be read.', {
      remedy: 'Copy the file again, or build it again.',
      place: { file },
      cause,
    });
  }
}

interface WrittenSet {
  readonly name: string;
  readonly crs?: string;
  readonly names: number | string[];
}

function requireLength(bytes: Uint8Array, expected: number, file: string): void {
  if (bytes.byteLength === expected) return;
  throw new FormatError('maq/truncated', 'The tree is not as long as it says.', {
    expected: `${expected} bytes`,
    got: `${bytes.byteLength} bytes`,
    remedy: 'Copy the file again, or build it again.',
    place: { file },
  });
}

function requireHeader(bytes: Uint8Array, file: string): void {
  const magic = String.fromCharCode(...bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC.slice(0, magic.length) || magic.length === 0) {
    throw new FormatError('maq/foreign', 'This is not a MAQ-tree file.', {
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
  if (VERSIONS.includes(version)) return;
  throw new FormatError('maq/newer', 'The tree was written by another version of Quadrille.', {
    expected: `version ${VERSIONS.join(' or ')}`,
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

/**
 * Checksum of a file (Fletcher, An Arithmetic Checksum for Serial Transmissions, 1982), modulo 2³² − 1. The words that
 * contain the checksum are skipped. The 16-bit halves of the words are summed, the lower half of a word first. (If
 * whole words were summed, the checksum could not distinguish the words 0 and 2³² − 1.)
 */
function checksumOf(words: Uint32Array): [low: number, high: number] {
  const modulus = 2 ** 32 - 1;
  let [sum, sums] = [0, 0];
  for (let i = 0; i < words.length; i++) {
    if (i === CHECKSUM_WORD || i === CHECKSUM_WORD + 1) continue;
    const word = words[i]!;
    for (let half = 0; half < 32; half += 16) {
      sum += (word >>> half) & 0xffff;
      if (sum >= modulus) sum -= modulus;
      sums += sum;
      if (sums >= modulus) sums -= modulus;
    }
  }
  return [sum, sums];
}
