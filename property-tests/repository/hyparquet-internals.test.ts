import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '..', '..');

/** What the readers of Parquet import from files inside of hyparquet, which its versions may move without notice. */
const imported = readdirSync(join(root, 'formats'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) => {
    const text = readFileSync(join(root, 'formats', name), 'utf8');
    const found = text.matchAll(/^import \{([^}]*)\} from '(hyparquet\/src\/[^']+)';$/gm);
    return [...found].flatMap(([, names, path]) => names!.split(',').map((each) => [path!, each.trim()] as const));
  });

describe('hyparquet', () => {
  test('is pinned, and its internals are imported', () => {
    expect(manifest.dependencies.hyparquet).toMatch(/^\d+\.\d+\.\d+$/);
    expect(imported.length).toBeGreaterThan(2);
  });

  test.each(imported)('has in %s the function %s', async (path, name) => {
    const module = (await import(path)) as Readonly<Record<string, unknown>>;
    expect(module[name]).toBeTypeOf('function');
  });

  test('unpacks what the readers have it unpack', async () => {
    const { deltaBinaryUnpack } = await import('hyparquet/src/delta.js');
    // A block of 128 with one miniblock, of the three values 7, 8 and 9: the first one, and differences of 1.
    const bytes = Uint8Array.of(0x80, 1, 4, 3, 14, 2, 0, 0, 0, 0);
    const values = new Int32Array(3);
    deltaBinaryUnpack({ view: new DataView(bytes.buffer), offset: 0 }, 3, values);
    expect([...values]).toEqual([7, 8, 9]);
  });
});
