import { crc32, deflateSync } from 'node:zlib';
import { encode } from 'fast-png';
import { describe, expect } from 'vitest';
import type { PolygonTile } from '../../../formats/result-sets/result-set.ts';
import { traceLabels } from '../../../formats/result-sets/trace-labels.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { coversPixel, read, written } from '../../support/result-sets-support.ts';

const sizeOf = ({ width, height }: LabelImage): Pick<LabelImage, 'width' | 'height'> => ({ width, height });

interface LabelImage {
  readonly width: number;
  readonly height: number;
  readonly labels: number[];
}

const labelImage = (max: number): fc.Arbitrary<LabelImage> =>
  fc
    .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max }))
    .chain(([width, height, top]) =>
      fc.record({
        width: fc.constant(width),
        height: fc.constant(height),
        labels: fc.array(fc.integer({ min: 0, max: top }), { minLength: width * height, maxLength: width * height }),
      }),
    );

/**
 * Connected components of equal labels, by flood fill. A component is a list of its pixels. Components are ordered by
 * their first pixels.
 */
function floodComponents({ width, height, labels }: LabelImage): number[][] {
  const seen = new Set<number>();
  const components: number[][] = [];
  for (const [start, label] of labels.entries()) {
    if (label === 0 || seen.has(start)) continue;
    const component: number[] = [];
    const pending = [start];
    seen.add(start);
    while (pending.length > 0) {
      const pixel = pending.pop()!;
      component.push(pixel);
      const [column, row] = [pixel % width, Math.floor(pixel / width)];
      const beside = [
        column > 0 ? pixel - 1 : -1,
        column < width - 1 ? pixel + 1 : -1,
        row > 0 ? pixel - width : -1,
        row < height - 1 ? pixel + width : -1,
      ];
      for (const next of beside) {
        if (next === -1 || seen.has(next) || labels[next] !== label) continue;
        seen.add(next);
        pending.push(next);
      }
    }
    components.push(component.sort((a, b) => a - b));
  }
  return components;
}

/** The pixels whose centre is inside a polygon. */
function pixelsOf(rings: ReturnType<typeof written>[number]['rings'], { width, height }: LabelImage): number[] {
  const pixels: number[] = [];
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      if (coversPixel(rings, column, row)) pixels.push(row * width + column);
    }
  }
  return pixels;
}

/** Twice the signed area of a ring. */
function doubleArea(ring: readonly (readonly [number, number])[]): number {
  return ring.reduce((sum, [x, y], v) => {
    const [nextX, nextY] = ring[(v + 1) % ring.length]!;
    return sum + x * nextY - y * nextX;
  }, 0);
}

function expectRectilinear(tile: PolygonTile): void {
  for (const { rings } of written(tile)) {
    for (const ring of rings) {
      for (const [v, [x, y]] of ring.entries()) {
        const [nextX, nextY] = ring[(v + 1) % ring.length]!;
        // Horizontal and vertical edges must alternate, so that no vertex is in the middle of a straight line.
        expect(v % 2 === 0 ? y === nextY && x !== nextX : x === nextX && y !== nextY).toBe(true);
      }
    }
  }
}

describe('a traced label image', () => {
  test.prop([labelImage(4)], { numRuns: caseCount(400) })(
    'has one polygon per component, which covers its pixels',
    (image) => {
      const tile = traceLabels(Uint8Array.from(image.labels), sizeOf(image));
      expectRectilinear(tile);
      const polygons = written(tile);
      const components = floodComponents(image);
      expect(polygons.map(({ rings }) => pixelsOf(rings, image))).toEqual(components);
      expect(polygons.map(({ id }) => Number(id.split('#')[0]))).toEqual(
        components.map(([first]) => image.labels[first!]),
      );
      expect(new Set(polygons.map(({ id }) => id)).size).toBe(components.length);
      for (const [index, { rings }] of polygons.entries()) {
        // The largest ring is the outline, and the other rings are holes.
        const signed = rings.map((ring) => Math.abs(doubleArea(ring)) / 2);
        expect(2 * Math.max(...signed) - signed.reduce((sum, area) => sum + area, 0)).toBe(components[index]!.length);
      }
    },
  );

  test.prop([labelImage(4)], { numRuns: caseCount(200) })('has one polygon per label on request', (image) => {
    const tile = traceLabels(
      Int32Array.from(image.labels, (label) => -label),
      { ...sizeOf(image), regions: 'labels' },
    );
    expectRectilinear(tile);
    const labels = [...new Set(image.labels)].filter((label) => label > 0);
    const pixels = labels.map((label) => image.labels.flatMap((other, pixel) => (other === label ? [pixel] : [])));
    const polygons = written(tile);
    expect(polygons.map(({ id }) => id)).toEqual(labels.map((label) => String(-label)));
    expect(polygons.map(({ rings }) => pixelsOf(rings, image))).toEqual(pixels);
  });

  test('separates pixels that only share a corner', () => {
    const tile = traceLabels(Uint8Array.of(1, 0, 0, 1), { width: 2, height: 2, regions: 'labels' });
    expect(written(tile)[0]!.rings.map((ring) => ring.length)).toEqual([4, 4]);
    const other = traceLabels(Uint8Array.of(0, 1, 1, 0), { width: 2, height: 2, regions: 'labels' });
    expect(written(other)[0]!.rings.map((ring) => ring.length)).toEqual([4, 4]);
  });

  test('takes time by pixels, not by labels', () => {
    const [width, height] = [500, 400];
    const labels = Uint32Array.from({ length: width * height }, (_, pixel) => pixel + 1);
    expect(traceLabels(labels, { width, height }).ids.starts.length).toBe(width * height + 1);
  });
});

/** A chunk of a PNG. */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(data.length);
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(crc32(body));
  return Buffer.concat([head, body, tail]);
}

/** A PNG with one sample of few bits per pixel, with or without a palette. */
function smallPng({ width, height, labels }: LabelImage, depth: number, palette: boolean): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, palette ? 3 : 0], 8);
  const stride = 1 + Math.ceil((width * depth) / 8);
  const rows = new Uint8Array(stride * height);
  for (const [pixel, label] of labels.entries()) {
    const bit = (pixel % width) * depth;
    rows[Math.floor(pixel / width) * stride + 1 + (bit >> 3)]! |= label << (8 - depth - (bit & 7));
  }
  const colours = palette ? [chunk('PLTE', new Uint8Array(3 * 2 ** depth))] : [];
  const chunks = [chunk('IHDR', header), ...colours, chunk('IDAT', deflateSync(rows)), chunk('IEND', new Uint8Array())];
  return Buffer.concat([Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), ...chunks]);
}

describe('a PNG of labels', () => {
  test.prop([labelImage(1), fc.constantFrom(1, 2, 4, 8), fc.boolean()])(
    'is traced for any bit depth, with or without a palette',
    (image, depth, palette) => {
      const { width, height } = image;
      const expected = { ...traceLabels(Uint8Array.from(image.labels), { width, height }), size: { width, height } };
      expect(read('png', smallPng(image, depth, palette))).toEqual(expected);
    },
  );

  test.prop([labelImage(65_535), fc.constantFrom('null' as const, 'Adam7' as const)])(
    'of 16 bits is traced, interlaced or not',
    (image, interlace) => {
      const data = Uint16Array.from(image.labels);
      const png = encode({ ...image, data, channels: 1, depth: 16 }, { interlace });
      const { width, height } = image;
      expect(read('png', png)).toEqual({ ...traceLabels(data, { width, height }), size: { width, height } });
    },
  );

  test('of colours is refused, with a remedy', () => {
    const png = encode({ width: 1, height: 1, data: Uint8Array.of(1, 2, 3), channels: 3, depth: 8 });
    expect(() => read('png', png)).toThrow(
      expect.objectContaining({ code: 'format/not-labels', got: 'RGB', remedy: expect.stringContaining('grey image') }),
    );
  });

  test.prop([labelImage(200), fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'that is damaged is refused',
    (image, where, flip) => {
      const png = Uint8Array.from(smallPng(image, 8, false));
      png[where % png.length]! ^= flip;
      expect(() => read('png', png)).toThrow(
        expect.objectContaining({
          code: expect.stringMatching(/^format\/(bad-png|not-labels)$/),
          place: { file: 'tile' },
        }),
      );
      expect(() => read('png', png.subarray(0, where % png.length))).toThrow(
        expect.objectContaining({ code: 'format/bad-png' }),
      );
    },
  );

  test('that claims more pixels than its data can hold is refused before memory is allocated', () => {
    const png = smallPng({ width: 2 ** 26, height: 1, labels: [1] }, 8, false);
    expect(png.length).toBeLessThan(2 ** 17);
    const forged = Uint8Array.from(png);
    new DataView(forged.buffer).setUint32(20, 2 ** 31 - 1);
    expect(() => read('png', forged)).toThrow(expect.objectContaining({ code: 'format/bad-png' }));
  });
});

/**
 * Lengths of runs of equal pixels, column by column from top to bottom. The first run is background and may be empty.
 */
function runsOf({ width, height, labels }: LabelImage): number[] {
  const counts = [0];
  let value = 0;
  for (let pixel = 0; pixel < width * height; pixel++) {
    const next = labels[(pixel % height) * width + Math.floor(pixel / height)]!;
    if (next !== value) counts.push(0);
    value = next;
    counts[counts.length - 1]!++;
  }
  return counts;
}

/**
 * Encodes run lengths in the text format of COCO: five bits per character, lowest bits first. From the fourth run on,
 * the text stores the difference from the length two runs before.
 */
function compress(counts: readonly number[]): string {
  let text = '';
  for (const [index, count] of counts.entries()) {
    let rest = index > 2 ? count - counts[index - 2]! : count;
    for (let more = true; more; ) {
      const bits = rest & 31;
      rest >>= 5;
      more = bits & 16 ? rest !== -1 : rest !== 0;
      text += String.fromCharCode(48 + bits + (more ? 32 : 0));
    }
  }
  return text;
}

function cocoText(...segmentations: unknown[]): string {
  return JSON.stringify({
    annotations: segmentations.map((segmentation, index) => ({ id: 10 + index, segmentation })),
  });
}

describe('a COCO mask', () => {
  const examples: [LabelImage][] = [[{ width: 1, height: 1, labels: [0] }]];
  test.prop([labelImage(1)], { numRuns: caseCount(400), examples })(
    'is traced like its pixels, compressed or not',
    (image) => {
      const size = [image.height, image.width];
      const counts = runsOf(image);
      const tile = read('coco', cocoText({ size, counts }, { size, counts: compress(counts) }));
      const pixels = image.labels.flatMap((label, pixel) => (label > 0 ? [pixel] : []));
      // A mask without pixels is no polygon.
      if (pixels.length === 0) {
        expect(written(tile)).toEqual([]);
        return;
      }
      const [plain, compressed] = written(tile);
      expect(pixelsOf(plain!.rings, image)).toEqual(pixels);
      expect(compressed).toEqual({ id: '11', rings: plain!.rings });
      const traced = written(traceLabels(Uint8Array.from(image.labels), { ...sizeOf(image), regions: 'labels' }));
      expect(plain!.rings).toEqual(traced[0]?.rings ?? []);
    },
  );

  test('takes time by runs, not by pixels', () => {
    const size = [2 ** 25, 2 ** 25];
    const counts = [2 ** 25 + 1, 2 ** 49, 2 ** 50 - 2 ** 49 - 2 ** 25 - 1];
    // The second run starts at row 1 of column 1 and ends at row 0 of column 2^24 + 1.
    const [left, right, bottom] = [1, 2 ** 24 + 2, 2 ** 25];
    expect(written(read('coco', cocoText({ size, counts })))[0]!.rings).toEqual([
      [
        [left + 1, 0],
        [right, 0],
        [right, 1],
        [right - 1, 1],
        [right - 1, bottom],
        [left, bottom],
        [left, 1],
        [left + 1, 1],
      ],
    ]);
  });

  test.each([
    [{ size: [2, 2], counts: [1, 2] }, 'format/bad-rle'],
    [{ size: [2, 2], counts: [5, -1] }, 'format/bad-rle'],
    [{ size: [2, 0], counts: [] }, 'format/bad-rle'],
    [{ size: [2, 2], counts: 'o' }, 'format/bad-rle'],
    [{ size: [2, 2], counts: '!' }, 'format/bad-rle'],
    [{ size: [2, 2], counts: 'oooooooooooooooooo0' }, 'format/bad-rle'],
    [{ size: [2], counts: [4] }, 'format/malformed-coco'],
    [{ size: [2, 2] }, 'format/malformed-coco'],
    [7, 'format/malformed-coco'],
    [[[0, 0, 1]], 'format/malformed-coco'],
    [[[0, 0, 1, null, 1, 1]], 'geometry/not-finite'],
  ])('%j is an error that names the annotation', (segmentation, code) => {
    expect(() => read('coco', cocoText([], segmentation))).toThrow(
      expect.objectContaining({ code, place: { file: 'tile', record: 1 } }),
    );
  });
});
