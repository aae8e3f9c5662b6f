import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** An entry point in package.json: the file for Node, and the default file for everything else. */
type Conditions = { readonly types: string; readonly node?: string; readonly default?: string };

/** An entry point of the package, and the source files that it resolves to. */
export interface Entry {
  /** As in package.json: `.` or `./graph`. */
  readonly name: string;
  /** The TypeScript file for Node. */
  readonly source: string;
  /** The TypeScript file for bundles of pages, or undefined if there is none. */
  readonly pageSource: string | undefined;
}

/** Every entry point of the package that is a TypeScript module. */
export function entries(): readonly Entry[] {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { exports } = JSON.parse(text) as { readonly exports: Readonly<Record<string, string | Conditions>> };
  return Object.entries(exports).flatMap(([name, conditions]) => {
    if (typeof conditions === 'string') return [];
    const { node, default: page } = conditions;
    return [{ name, source: sourceOf(node ?? page!), pageSource: page === undefined ? undefined : sourceOf(page) }];
  });
}

/** The source of a built file. */
function sourceOf(built: string): string {
  return join(root, built.replace('./dist/', '').replace(/\.js$/, '.ts'));
}
