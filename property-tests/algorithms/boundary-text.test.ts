import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBoundaryText } from '../../algorithms/boundary-text/index.ts';
import { parseBoundariesOn } from '../../formats/result-sets/boundaries-on-device.ts';
import { parseBoundaries } from '../../formats/result-sets/boundaries-text.ts';
import type { PolygonTile } from '../../formats/result-sets/result-set.ts';
import type { Context } from '../../primitives/index.ts';
import { onEveryBackend, plainBackends } from '../backends.ts';
import { scaledCount, someOf, THOROUGH } from '../cases.ts';
import { numberText, polygons, type WrittenPolygon } from '../support/result-sets-support.ts';

const TIMEOUT_MS = 300_000;
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * What parsing a text gave: the tile as plain data, with the raw bytes of its coordinates, or the error that was
 * thrown.
 */
type Outcome = { readonly tile: unknown } | { readonly thrown: unknown };

function plainTile({ ids, polygons: { polygonRings, ringVertices, x, y }, notes }: PolygonTile): unknown {
  const hex = (column: Float64Array): string =>
    Buffer.from(column.buffer, column.byteOffset, column.byteLength).toString('hex');
  return {
    ids: { bytes: [...ids.bytes], starts: [...ids.starts] },
    polygons: { polygonRings: [...polygonRings], ringVertices: [...ringVertices], x: hex(x), y: hex(y) },
    notes,
  };
}

function thrownBy(error: unknown): Outcome {
  const { name, message, code, place, expected, got, remedy } = error as Error & Record<string, unknown>;
  return { thrown: { name, message, code, place, expected, got, remedy } };
}

function onHost(bytes: Uint8Array): Outcome {
  try {
    return { tile: plainTile(parseBoundaries(bytes, 'tile')) };
  } catch (error) {
    return thrownBy(error);
  }
}

async function onDevice(context: Context, bytes: Uint8Array, partBytes?: number): Promise<Outcome> {
  try {
    const options = partBytes === undefined ? {} : { partBytes };
    return { tile: plainTile(await parseBoundariesOn(context, bytes, 'tile', options)) };
  } catch (error) {
    return thrownBy(error);
  }
}

const partBytes = fc.constantFrom(undefined, 1, 50, 400);
const style = fc.record({
  newline: fc.constantFrom('\n', '\r\n'),
  blank: fc.constantFrom(' ', '\t', '  '),
  comma: fc.constantFrom(',', ',', ', '),
  colon: fc.constantFrom('', ':'),
  named: fc.boolean(),
  rings: fc.constantFrom(';', ' | ', '; ', ' ;'),
  closes: fc.constantFrom(0, 1, 2),
  between: fc.constantFrom('', '', '# a comment, 1\n', '\n \n'),
  last: fc.boolean(),
  marked: fc.boolean(),
});
type Style = typeof style extends fc.Arbitrary<infer S> ? S : never;

function textOf(list: readonly WrittenPolygon[], how: Style): string {
  const vertex = (v: readonly [number, number]): string => v.map(numberText).join(how.comma);
  const line = ({ id, rings }: WrittenPolygon): string => {
    const texts = rings.map((ring) =>
      [...ring, ...Array(how.closes).fill(ring[0] ?? [0, 0])].map(vertex).join(how.blank),
    );
    return `${how.between}${how.named ? id + how.colon + how.blank : ''}${texts.join(how.rings)}`;
  };
  const text = list.map(line).join(how.newline) + (how.last ? how.newline : '');
  return how.marked ? `\uFEFF${text}` : text;
}

/** Mostly small integers, so that rings are often short, flat and closed. */
const whole = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 3 }), weight: 3 },
  { arbitrary: fc.integer({ min: -(2 ** 20), max: 2 ** 20 }), weight: 2 },
  { arbitrary: fc.constantFrom(2 ** 31 - 1, 1 - 2 ** 31, 2 ** 31, -(2 ** 31), 4294967297, -0), weight: 1 },
);
const wholePolygons: fc.Arbitrary<readonly WrittenPolygon[]> = fc.array(
  fc.record({
    id: fc.constantFrom('a', 'b', '17', 'ä:', 'nucleus-7'),
    rings: fc.array(fc.array(fc.tuple(whole, whole), { minLength: 0, maxLength: 9 }), { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 12 },
);
const files = fc.tuple(fc.oneof(wholePolygons, polygons), style).map(([list, how]) => encode(textOf(list, how)));

/** Bytes that damage a file. Most of them have a meaning in the format. */
const meant = fc.constantFrom(...encode('  \n\n\t\r;|,,-+.eE:#01123456789aä'), 0, 0xef, 0xff);
const noise = fc.oneof(
  fc.array(meant, { maxLength: 300 }).map((bytes) => Uint8Array.from(bytes)),
  fc.uint8Array({ maxLength: 200 }),
);
const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  drop: fc.nat(3),
  put: fc.array(meant, { maxLength: 3 }),
});
const mutated = fc
  .tuple(files, fc.array(edit, { minLength: 1, maxLength: 3 }))
  .map(([bytes, edits]) =>
    edits.reduce((list, { at, drop, put }) => list.toSpliced(Math.floor(at * list.length), drop, ...put), [...bytes]),
  )
  .map((bytes) => Uint8Array.from(bytes));

const square = '0,0 4,0 4,4 0,4';
const manyLines = (lines: number): string =>
  Array.from({ length: lines }, (_, line) => `${line} ${line},0 ${line + 1},0 ${line},${line % 7}`).join('\n');

const CASES: readonly (readonly [name: string, text: string])[] = [
  ['nothing', ''],
  ['a byte-order mark alone', '\uFEFF'],
  ['a newline alone', '\n'],
  ['blank lines of all kinds', '\n\r\n \t \n\r\n;\n'],
  ['no newline at the end', `a ${square}`],
  ['a return at the end', `a ${square}\r`],
  ['a return within a line', `a ${square}\rb ${square}`],
  ['names alone', 'a\nb \n c\r\n:\nd:'],
  ['comments in front of, between and behind polygons', `# x 1,2\n${square}\n #\n${square}\n#`],
  ['a name that begins with a separator', `;a ${square}\n`],
  ['names with separators in or behind them', `a;b ${square}\nc; ${square}\nd;${square}\n`],
  ['a name of 63, 64 and 65 bytes', [63, 64, 65].map((n) => `${'n'.repeat(n)} ${square}`).join('\n')],
  ['a name with a comma', `a,b ${square}`],
  ['many separators', `a ;; ${square} |;| ${square};\n`.repeat(3)],
  [
    'numbers at the limits',
    `a 2147483647,-2147483647 2147483648,-2147483648 999999999,1000000000 4294967295,4294967296`,
  ],
  ['a name alone in front of hardly anything but separators', `nobody\nb ${';'.repeat(300)}1,1 2,2 3,1\n`],
  ['numbers with zeros in front', 'a 00,-01 0000000001,1 00000000001,1'],
  ['zeros with a sign', 'a -0,0 0,-0 1,1 -00,5'],
  [
    'rings that reach from one end of the integers to the other',
    'a -2147483647,0 2147483647,0 0,1\nb 0,-2147483647 0,2147483647 1,0',
  ],
  ['rings of a span about 2^20', [-1, 0, 1].map((d) => `a 0,0 ${2 ** 20 + d},0 ${2 ** 20 + d},1`).join('\n')],
  ['rings that close twice', 'a 0,0 1,0 1,1 0,0 0,0\nb 0,0 0,0 0,0'],
  ['a ring on one line', 'a 0,0 1,1 5,5 2,2\nb 3,3 3,3 3,3 4,4'],
  ['tokens of one byte', 'a b c d e f g h\n'.repeat(20)],
  ['an error behind good lines', `a ${square}\nb ${square}\nc 0,0 1 0\nd ${square}`],
  ['errors of two kinds', `a ${square}\nb 0,0 1,x\nc 0,0 1 0`],
  ['decimals in every other line', `a ${square}\nb 0.5,1e3 4,0 4,4\n`.repeat(20)],
  ['more lines than 16 bits count', manyLines(70_000)],
  ['one line of many vertices', `a ${Array.from({ length: 9000 }, (_, i) => `${i % 100},${(i * i) % 37}`).join(' ')}`],
  ['one line of many rings', `a ${`${square};`.repeat(3000)}`],
];

/** The backends on which texts of more than a megabyte are tried. The reference backend is slow for such texts. */
const forLarge = someOf(
  plainBackends.filter(({ name }) => THOROUGH || name !== 'reference'),
  1,
);

onEveryBackend((opened, backend) => {
  const { runs } = backend;
  const same = async (bytes: Uint8Array, part?: number): Promise<void> => {
    expect(await onDevice(opened().context, bytes, part)).toEqual(onHost(bytes));
  };

  test.each([
    ['a file', files],
    ['noise', noise],
    ['a file with mistakes', mutated],
  ])('%s is read or refused as by the host parser', { timeout: TIMEOUT_MS }, async (_, inputs) => {
    await fc.assert(fc.asyncProperty(inputs, partBytes, same), { numRuns: scaledCount(runs, 3, 2) });
  });

  const cases = CASES.filter(([, text]) => text.length < 1e6 || forLarge.includes(backend));
  test.each(cases)('%s: same result as the host parser', { timeout: TIMEOUT_MS }, async (_, text) => {
    await same(encode(text));
    if (text.length < 500) await same(encode(text), 16);
  });

  test('ordinary polygons are parsed wholly on the device', { timeout: TIMEOUT_MS }, async () => {
    const coordinate = fc.integer({ min: -(2 ** 19) + 1, max: 2 ** 19 - 1 });
    const ring = fc.array(fc.tuple(coordinate, coordinate), { minLength: 3, maxLength: 12 }).filter(isPlain);
    const shapes = fc.array(fc.array(ring, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(shapes, fc.boolean(), async (list, closes) => {
        const ringText = (vertices: readonly (readonly number[])[]): string =>
          (closes ? [...vertices, vertices[0]!] : vertices).map((v) => v.join(',')).join(' ');
        const text = encode(list.map((rings, id) => `${id} ${rings.map(ringText).join(' ; ')}\n`).join(''));
        const parts = [];
        for await (const part of parseBoundaryText(opened().context, text)) parts.push(part);
        expect(parts).toHaveLength(1);
        const { x, y, at, plain } = parts[0]!.found!;
        expect(at.at(-1)).toBe(text.length - 1);
        const vertices = list.flat().flatMap((r) => (closes ? [...r, r[0]!] : r));
        expect([...x]).toEqual(vertices.map((v) => v[0]));
        expect([...y]).toEqual(vertices.map((v) => v[1]));
        expect([...plain].filter((kept) => kept > 0)).toEqual(list.flat().map((r) => r.length));
        expect([...x, ...y].some(Number.isNaN)).toBe(false);
      }),
      { numRuns: runs },
    );
  });

  test('all memory is freed whether the text is read to the end, left early or refused', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { context } = opened();
    const { counters } = context.backend;
    const before = counters.liveBuffers;
    const text = encode(manyLines(500));
    await parseBoundariesOn(context, text, 'tile', { partBytes: 1000 });
    for await (const { to } of parseBoundaryText(context, text, { partBytes: 1000 })) if (to > 2000) break;
    await expect(
      parseBoundariesOn(context, encode(`${manyLines(500)}\nx 1`), 'tile', { partBytes: 1000 }),
    ).rejects.toThrow(expect.objectContaining({ code: 'format/malformed-text' }));
    expect(counters.liveBuffers).toBe(before);
  });
});

/**
 * Whether a ring is open (its last vertex differs from its first) and encloses area: its vertices are not all
 * collinear.
 */
function isPlain(ring: readonly (readonly [number, number])[]): boolean {
  const [[fromX, fromY], [nextX, nextY], last] = [ring[0]!, ring[1]!, ring.at(-1)!];
  if (last[0] === fromX && last[1] === fromY) return false;
  return ring.some(([x, y]) => ((nextX - fromX) * (y - fromY) - (nextY - fromY) * (x - fromX)) % 2 ** 32 !== 0);
}
