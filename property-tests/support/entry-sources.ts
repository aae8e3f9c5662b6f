import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** The built files of an entry point in package.json. Node uses `node`; if it is absent, Node uses `default` too. */
type Conditions = { readonly types: string; readonly node?: string; readonly default?: string };

/** An entry point of the package, with its source files. */
export interface Entry {
  /** The name in package.json, such as `.` or `./graph`. */
  readonly name: string;
  /** The TypeScript file that Node uses. */
  readonly source: string;
  /** The TypeScript file for bundles that run in web pages; undefined if the entry point is only for Node. */
  readonly pageSource: string | undefined;
}

/** All entry points of the package that are TypeScript modules. */
export function entries(): readonly Entry[] {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { exports } = JSON.parse(text) as { readonly exports: Readonly<Record<string, string | Conditions>> };
  return Object.entries(exports).flatMap(([name, conditions]) => {
    if (typeof conditions === 'string') return [];
    const { node, default: page } = conditions;
    return [{ name, source: sourceOf(node ?? page!), pageSource: page === undefined ? undefined : sourceOf(page) }];
  });
}

/** The source file from which a file was built. */
function sourceOf(built: string): string {
  return join(root, built.replace('./dist/', '').replace(/\.js$/, '.ts'));
}
