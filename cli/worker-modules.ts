import { UsageError } from '../formats/usage-error.ts';
import type { RemoteModules } from '../graph/index.ts';
import { importFile } from './import-file.ts';
import type { MemoryOptions } from './memory.ts';

/** The modules of commands that hand out their work. */
export function ownModules(_options: MemoryOptions): RemoteModules {
  return {};
}

/**
 * Loads the modules that a worker was started with. Jobs may call the functions that they export.
 *
 * @throws UsageError `usage/module` for a module that cannot be loaded or exports no function.
 */
export async function loadModules(paths: ReadonlyMap<string, string>): Promise<RemoteModules> {
  const modules: Record<string, () => Promise<object>> = {};
  for (const [id, path] of paths) {
    const exported = await importFile(path, {
      code: 'usage/module',
      remedy: 'Name a module that exports functions.',
    });
    const functions = Object.fromEntries(Object.entries(exported).filter(([, value]) => typeof value === 'function'));
    if (Object.keys(functions).length === 0) {
      throw new UsageError('usage/module', `${path} exports no function.`, {
        remedy: 'Export the functions that jobs name.',
      });
    }
    modules[id] = async () => functions;
  }
  return modules;
}
