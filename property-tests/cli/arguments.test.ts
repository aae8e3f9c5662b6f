import { describe, expect } from 'vitest';
import { binCount } from '../../algorithms/zonal/binning.ts';
import { parseZonalArguments, ZONAL_SPECS } from '../../cli/zonal-arguments.ts';
import { UsageError } from '../../formats/usage-error.ts';
import { suggest } from '../../primitives/checks/suggest.ts';
import { fc, test } from '../law-test.ts';

const FILES = ['--zones', 'z.json', '--raster', 'r.tif'];
const parse = (...args: string[]) => parseZonalArguments([...FILES, ...args]);
const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));

describe('--edges', () => {
  test.prop([fc.uniqueArray(finite, { minLength: 2 }), fc.boolean()])('keeps every edge exactly', (values, inline) => {
    const edges = values.sort((a, b) => a - b);
    const text = edges.join(',');
    const { binning } = inline ? parse(`--edges=${text}`) : parse('--edges', text);
    expect(binning).toEqual({ kind: 'edges', edges });
  });

  test('reads -0 as 0', () => {
    expect(parse('--edges', '-0,1').binning).toEqual({ kind: 'edges', edges: [0, 1] });
  });

  test.prop([fc.array(finite, { minLength: 2 })])('refuses edges that do not increase', (values) => {
    const increasing = values.every((value, i) => i === 0 || values[i - 1]! < value);
    if (increasing) expect(() => parse('--edges', values.join(','))).not.toThrow();
    else expect(() => parse('--edges', values.join(','))).toThrow(UsageError);
  });
});

describe('--bins', () => {
  test.prop([fc.integer({ min: -1e6, max: 1e6 }), fc.integer({ min: 1, max: 2e9 }), fc.integer({ min: -12, max: 12 })])(
    'accepts any range that the width divides, decimal fractions included',
    (start, count, exponent) => {
      const [low, high, width] = [start, start + count, 1].map((n) => Number(`${n}e${exponent}`));
      expect(parse('--bins', `${low}:${high}:${width}`).binning).toEqual({ kind: 'even', low, high, width });
    },
  );

  test.prop([fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0.001, max: 0.999, noNaN: true })])(
    'refuses a width that does not divide the range',
    (whole, part) => {
      expect(() => parse('--bins', `0:${whole + part}:1`)).toThrow('not a whole number');
    },
  );

  test('accepts only quotients within 1e-9 of a whole number', () => {
    expect(() => parse('--bins', '0:3.0000000009:1')).not.toThrow();
    expect(() => parse('--bins', '0:3.000000002:1')).toThrow('not a whole number');
  });

  test.each([
    ['0:255:0.00001', 25_500_000],
    ['200:330:0.00001', 13_000_000],
    ['0:1:1e-9', 1_000_000_000],
  ])('accepts %s, whose %i bins no f64 quotient gives exactly', (bins, count) => {
    expect(binCount(parse('--bins', bins).binning)).toBe(count);
  });

  test('accepts negative and scientific numbers', () => {
    expect(parse('--bins', '-1:1:0.1').binning).toEqual({ kind: 'even', low: -1, high: 1, width: 0.1 });
    expect(parse('--bins', '-1e3:+1.5E+3:5e2').binning).toEqual({ kind: 'even', low: -1000, high: 1500, width: 500 });
  });

  test.each([
    ['1:0:0.1', 'is not below'],
    ['1:1:0.1', 'is not below'],
    ['0:1:0', 'width of 0'],
    ['0:1:-0.1', 'width of -0.1'],
    ['0:1', 'lo:hi:width'],
    ['0:1:0.1:2', 'lo:hi:width'],
    ['0:1:', 'finite number'],
    ['0:x:1', 'finite number'],
    ['0:0x10:1', 'finite number'],
    ['0:Infinity:1', 'finite number'],
    ['0:1e999:1', 'finite number'],
    ['0:1:1e-300', 'fewer than'],
    ['0:0.5:1', 'not a whole number'],
  ])('refuses %s', (bins, why) => {
    expect(() => parse('--bins', bins)).toThrow(why);
  });
});

describe('the binning', () => {
  test.prop([fc.subarray(['--bins=0:1:1', '--edges=0,1', '--unique'])])('must be given exactly once', (flags) => {
    if (flags.length === 1) expect(() => parse(...flags)).not.toThrow();
    else expect(() => parse(...flags)).toThrow(UsageError);
  });
});

describe('parseZonalArguments', () => {
  test.prop([fc.array(fc.oneof(fc.string(), fc.constantFrom(...FILES, '--unique', '--bins', '--', '-', '--=')))])(
    'returns options or throws a usage error for any words',
    (args) => {
      try {
        expect(parseZonalArguments(args)).toHaveProperty('binning');
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
      }
    },
  );

  test('fills in defaults', () => {
    expect(parse('--unique')).toMatchObject({
      rasterOptions: { nodata: undefined },
      bands: [1],
      out: '-',
      format: 'csv',
      backend: 'auto',
      adapter: 'auto',
      workers: undefined,
      jsonLog: false,
    });
  });

  test.each([
    [['--out', 'a.json'], 'json'],
    [['--out', 'a.JSON'], 'json'],
    [['--out', 'json'], 'csv'],
    [['--out', 'a.json', '--format', 'csv'], 'csv'],
    [['--format', 'json'], 'json'],
  ])('infers the format of %j as %s', (args, format) => {
    expect(parse('--unique', ...args).format).toBe(format);
  });

  test.each([
    ['-9999', -9999],
    ['nan', Number.NaN],
    ['-inf', Number.NEGATIVE_INFINITY],
    ['-3.4028234663852886e+38', -3.4028234663852886e38],
  ])('reads --nodata %s', (text, nodata) => {
    expect(parse('--unique', '--nodata', text).rasterOptions.nodata).toBe(nodata);
  });

  test.each([
    ['512', 512],
    ['1.5KB', 1500],
    ['1GiB', 2 ** 30],
    ['256mib', 2 ** 28],
  ])('reads --memory %s', (text, memory) => {
    expect(parse('--unique', '--memory', text).memoryBytes).toBe(memory);
  });

  test.each([
    [['--memory', '1XB'], 'size in bytes'],
    [['--memory', '0'], 'size in bytes'],
    [['--budget', '1GB'], '--memory'],
    [['--band', '0'], 'whole number of at least 1'],
    [['--band', '1.5'], 'whole number of at least 1'],
    [['--workers', '-2'], 'whole number of at least 1'],
    [['--nodata', 'none'], 'finite number'],
    [['--assume-crs', '4326'], 'EPSG:4326'],
    [['--backend', 'workrs'], 'Did you mean workers?'],
    [['--backend', 'cuda'], 'Choose from auto, workers, webgpu, reference.'],
    [['--antimeridian', 'cut'], 'Choose from unwrap.'],
    [['--zonse', 'x'], 'Did you mean --zones?'],
    [['--zzz'], 'See --help'],
    [['--out'], '--out needs a value'],
    [['--out', '--stats', 'x'], '--out needs a value'],
    [['--out='], '--out needs a value'],
    [['--quiet=yes'], 'takes no value'],
    [['--band', '1', '--band', '2'], 'given twice'],
    [['stray'], "'stray' is neither an option"],
    [['--stats', 'x', '--stat', 'meean'], "'meean' is not the name of a statistic. Did you mean mean?"],
    [['--stats', 'x', '--stat', 'average'], 'Did you mean mean?'],
    [['--stats', 'x', '--stat', 'mean,'], "'' is not the name of a statistic. Choose from cells, count, nodata"],
    [['--stats', 'x', '--stat', 'mean(2)'], "'mean(2)' is not mean without parentheses. Write mean."],
    [['--stats', 'x', '--stat', 'sum,mean,sum'], "'sum' is not named only once. Name sum once."],
    [
      ['--stats', 'x', '--stat', 'quantile'],
      "'quantile' is not quantile of a number from 0 to 1, such as quantile(0.9)",
    ],
    [['--stats', 'x', '--stat', 'mean,quantile(90)'], 'Did you mean quantile(0.9)?'],
    [['--stats', 'x', '--stat', 'quantile(0.5,0.9)'], "'quantile(0.5,0.9)' is not quantile of a number from 0 to 1"],
    [['--stats', 'x', '--stat', 'stddev'], 'Did you mean stdev?'],
    [['--plot-stat', 'stdev'], '--plot-stat needs a map. Add --plot FILE.svg'],
    [['--plot', 'x.svg', '--plot-stat', 'frac'], 'frac is not one number for each zone. Name one statistic'],
    [['--plot', 'x.svg', '--plot-stat', 'min,max'], 'is not one number for each zone'],
    [['--stat', 'mean'], '--stat names statistics that no output has. Say where they go with --stats FILE'],
    [['--out', '-', '--stats', '-'], '--out and --stats cannot both write to stdout'],
    [['--out', 'a', '--stats', '-', '--plot', '-'], '--stats and --plot cannot both write to stdout'],
    [['--backend', 'reference', '--workers', '2'], 'has no effect with --backend reference'],
    [['--backend', 'workers', '--adapter', 'software'], 'has no effect with --backend workers'],
  ])('refuses %j', (args, why) => {
    expect(() => parse('--unique', ...args)).toThrow(why);
  });

  test.each([
    [['--raster', 'r', '--unique'], '--zones is missing'],
    [['--zones', 'z', '--unique'], '--raster is missing'],
  ])('requires what %j lacks', (args, why) => {
    expect(() => parseZonalArguments(args)).toThrow(why);
  });
});

describe('suggest', () => {
  const names = ZONAL_SPECS.map(({ name }) => name);

  test.prop([fc.constantFrom(...names), fc.nat(), fc.constantFrom('delete', 'double', 'swap')])(
    'finds the option behind one typing error',
    (name, at, slip) => {
      const i = at % name.length;
      const j = Math.min(i, name.length - 2);
      const word = {
        delete: name.slice(0, i) + name.slice(i + 1),
        double: name.slice(0, i) + name[i] + name.slice(i),
        swap: name.slice(0, j) + name[j + 1] + name[j] + name.slice(j + 2),
      }[slip];
      const found = suggest(word, names);
      // A typo may turn one option into an abbreviation of another, but a suggestion must always be found.
      expect(found).toBeDefined();
      if (word === name) expect(found).toBe(name);
    },
  );

  test('returns nothing when no option is similar', () => {
    expect(suggest('xylophone', names)).toBeUndefined();
  });
});
