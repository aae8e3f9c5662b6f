import { UsageError } from '../formats/usage-error.ts';
import type { RemoteModules } from '../graph/index.ts';
import { importFile } from './import-file.ts';
import type { WorkerOptions } from './worker-arguments.ts';
import { ZONAL_MODULE, zonalModule } from './zonal-partition.ts';
import { zonalParts } from './zonal-parts.ts';

/** The modules that a worker runs. */
export interface WorkerModules {
  readonly modules: RemoteModules;
  /** Closes the files that modules keep open. */
  close(): Promise<void>;
}

/**
 * The modules of a worker: those of the commands that hand out their work, and those that the worker was started with.
 * Jobs that are done at the same time share the memory.
 *
 * @throws UsageError `usage/module` for a module that cannot be loaded or exports no function.
 */
export async function modulesOf({ modules, memoryBytes, lanes }: WorkerOptions): Promise<WorkerModules> {
  const { countPartition, close } = zonalModule(zonalParts, Math.floor(memoryBytes / lanes));
  return { modules: { [ZONAL_MODULE]: async () => ({ countPartition }), ...(await loadModules(modules)) }, close };
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
