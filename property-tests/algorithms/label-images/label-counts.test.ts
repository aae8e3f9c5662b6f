import { describe, test as example, expect } from 'vitest';
import { fc, test } from '../../law-test.ts';
import { countLabels, type LabelGrid } from '../../support/label-counts.ts';
import { picture, volume } from '../../support/label-files.ts';

const grids = fc
  .record({ width: fc.integer({ min: 1, max: 8 }), height: fc.integer({ min: 1, max: 8 }) })
  .chain(({ width, height }) => {
    const size = width * height;
    const labels = fc.array(fc.nat({ max: 3 }), { minLength: size, maxLength: size });
    return fc.tuple(labels, labels).map(([a, b]): [LabelGrid, LabelGrid] => [
      { width, height, labels: a },
      { width, height, labels: b },
    ]);
  });

const both = fc.constantFrom('components' as const, 'labels' as const);

describe('labels counted pixel by pixel', () => {
  test.prop([grids, both])('cover every pixel of a label once', ([a, b], regions) => {
    const { first } = countLabels(a, b, regions);
    for (const label of [1, 2, 3])
      expect(first.filter((region) => region.label === label).reduce((sum, { pixels }) => sum + pixels, 0)).toBe(
        Array.from(a.labels).filter((other) => other === label).length,
      );
  });

  test.prop([grids, both])('share the pixels where both images have a label', ([a, b], regions) => {
    const shared = countLabels(a, b, regions).pairs.reduce((sum, { pixels }) => sum + pixels, 0);
    expect(shared).toBe(Array.from(a.labels).filter((label, i) => label !== 0 && b.labels[i] !== 0).length);
  });

  test.prop([grids, both])('share all of their pixels with themselves', ([a], regions) => {
    const { first, pairs } = countLabels(a, a, regions);
    expect(pairs).toEqual(first.map(({ pixels }, i) => ({ first: i, second: i, pixels })));
  });

  example('are 4-connected', () => {
    const chequered = { width: 2, height: 2, labels: [1, 0, 0, 1] };
    expect(countLabels(chequered, chequered).first.length).toBe(2);
    expect(countLabels(chequered, chequered, 'labels').first.length).toBe(1);
  });

  example('of the pathology image are as many as its README states', async () => {
    const [a, b] = [await picture('ihc-sigma-1.0.png'), await picture('ihc-sigma-1.6.png')];
    const { first, second, pairs } = countLabels(a, b, 'labels');
    expect([first.length, second.length, pairs.length]).toEqual([377, 340, 595]);
  });

  example('of the atlases are as many as their README states', async () => {
    const [a, b] = [await volume('aal.nii.gz'), await volume('brodmann.nii.gz')];
    const counts = a.map((slice, z) => countLabels(slice, b[z]!));
    const total = (key: 'first' | 'second' | 'pairs') => counts.reduce((sum, count) => sum + count[key].length, 0);
    expect([total('first'), total('second'), total('pairs')]).toEqual([4838, 5006, 12331]);
  });
});
