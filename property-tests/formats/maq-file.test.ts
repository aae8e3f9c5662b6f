import { describe, expect } from 'vitest';
import { encodeMaq, type MaqFile, openMaq } from '../../formats/results/maq-file.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';

const column = (length: number) => fc.uint32Array({ minLength: length, maxLength: length });

const sets = fc.array(
  fc.record(
    {
      name: fc.string({ unit: 'grapheme' }),
      crs: fc.constantFrom('OGC:CRS84', 'EPSG:2056'),
      names: fc.oneof(
        fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }),
        fc.nat({ max: 5 }).map((count) => Array.from({ length: count }, (_, i) => String(i))),
      ),
    },
    { requiredKeys: ['name', 'names'], noNullPrototype: true },
  ),
  { maxLength: 3 },
);
const entry = (count: number) => ({ polygon: column(count), set: column(count), boundary: column(count) });
const edgesOf = (entries: number) =>
  fc.record({
    corner: column(entries),
    first: column(entries),
    count: column(entries),
    edge: fc.uint32Array({ maxLength: 9 }),
    ends: fc.nat({ max: 5 }).chain((edges) => fc.int32Array({ minLength: 4 * edges, maxLength: 4 * edges })),
  });
const number = fc.double({ noNaN: true });
const size = fc.nat({ max: 20 });
const maqFile: fc.Arbitrary<MaqFile> = fc.tuple(size, size, sets, fc.boolean()).chain(([nodes, entries, sets, edges]) =>
  fc.record({
    domain: fc.record({ left: number, bottom: number, size: number }),
    levels: fc.nat({ max: 30 }),
    sets: fc.constant(sets),
    tree: fc.record({
      nodes: fc.record({
        code: fc.record({ lo: column(nodes), hi: column(nodes) }),
        level: column(nodes),
        firstChild: column(nodes),
        childCount: column(nodes),
        firstEntry: column(nodes),
        entryCount: column(nodes),
        next: column(nodes),
      }),
      entries: fc.record(entry(entries)),
      extent: fc.record({
        levels: fc.nat({ max: 30 }),
        sets: fc.constant(sets.length),
        polygons: fc.nat({ max: 2 ** 32 - 1 }),
      }),
      ...(edges ? { edges: edgesOf(entries) } : {}),
    }),
  }),
);

const codeOf = (bytes: Uint8Array): string => {
  try {
    openMaq(bytes, { file: 'birds.maq' });
  } catch (error) {
    if (error instanceof FormatError && error.place?.file === 'birds.maq') return error.code;
    throw error;
  }
  return 'opened';
};

describe('MAQ-tree files', () => {
  test.prop([maqFile, fc.nat({ max: 8 })])('decode to what was encoded, at any alignment', (written, shift) => {
    const encoded = new Uint8Array(encodeMaq(written));
    expect(openMaq(encoded)).toEqual(written);
    const shared = new Uint8Array(new SharedArrayBuffer(encoded.length + 8), shift, encoded.length);
    shared.set(encoded);
    expect(openMaq(shared)).toEqual(written);
    const { polygon } = openMaq(shared).tree.entries;
    // If the column is aligned, it is a view of the file's memory, not a copy.
    expect(polygon.buffer === shared.buffer).toBe(shift % 4 === 0);
  });

  test.prop([maqFile, fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'are refused when one byte is changed',
    (written, at, change) => {
      const encoded = new Uint8Array(encodeMaq(written));
      const place = at % encoded.length;
      encoded[place]! ^= change;
      const isVersion = place >= 8 && place < 12 && new Uint32Array(encoded.slice(8, 12).buffer)[0]! <= 2;
      const ofVersion = isVersion && encoded[8] !== 0 ? ['maq/damaged'] : ['maq/newer'];
      const expected = place < 8 ? ['maq/foreign'] : place < 12 ? ofVersion : ['maq/damaged', 'maq/truncated'];
      expect(expected).toContain(codeOf(encoded));
    },
  );

  test.prop([maqFile, fc.nat()])('are refused when all bits of a word are inverted', (written, at) => {
    const words = new Uint32Array(encodeMaq(written));
    const places = [...words.keys()].slice(3);
    // Simulates a storage medium that lost a word, if there is a word of all zeros or all ones. For a word of zeros,
    // the medium returns all ones; for a word of ones, all zeros.
    const uniform = places.filter((place) => words[place] === 0 || words[place] === 2 ** 32 - 1);
    const place = uniform.length === 0 ? places[at % places.length]! : uniform[at % uniform.length]!;
    words[place] = ~words[place]!;
    expect(['maq/damaged', 'maq/truncated']).toContain(codeOf(new Uint8Array(words.buffer)));
  });

  test.prop([maqFile, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 9 })])(
    'are refused when they are truncated or have trailing bytes',
    (written, at, more) => {
      const encoded = new Uint8Array(encodeMaq(written));
      const cut = encoded.subarray(0, at % encoded.length);
      expect(codeOf(cut)).toBe(cut.length === 0 ? 'maq/foreign' : 'maq/truncated');
      expect(codeOf(Uint8Array.from([...encoded, ...more]))).toBe('maq/truncated');
    },
  );

  test.prop([maqFile, fc.boolean()])('have version 2 only when polygons have further sheets', (written, hasSheets) => {
    const { boundary } = written.tree.entries;
    for (const [i, each] of boundary.entries()) boundary[i] = each % (hasSheets ? 3 : 2);
    const [, , version] = new Uint32Array(encodeMaq(written));
    expect(version).toBe(boundary.includes(2) ? 2 : 1);
  });

  test.prop([fc.uint8Array({ maxLength: 200 })])('never decode from random bytes', (bytes) => {
    expect(['maq/foreign', 'maq/truncated', 'maq/newer', 'maq/damaged']).toContain(codeOf(bytes));
  });

  test.prop([maqFile])('open without a checksum test on request', (written) => {
    const encoded = new Uint8Array(encodeMaq(written));
    encoded[56]! ^= 1;
    expect(codeOf(encoded)).toBe('maq/damaged');
    expect(openMaq(encoded, { verify: false })).toEqual(written);
  });
});
