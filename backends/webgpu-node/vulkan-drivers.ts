import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Folders to search for drivers, beside those named by the environment. */
const SYSTEM_FOLDERS = ['/usr/local/etc', '/etc', '/run/opengl-driver/share', '/usr/lib/x86_64-linux-gnu/GL'];

/**
 * The manifests of the installed Vulkan drivers on a Linux machine whose libraries exist, in the order that the Vulkan
 * loader documents. If `VK_DRIVER_FILES` or `VK_ICD_FILENAMES` is set, only its files count. Otherwise they are
 * `VK_ADD_DRIVER_FILES` and the folders `vulkan/icd.d` under the configuration and data folders of the user and of the
 * system.
 *
 * Checking before Dawn does keeps the loader's own warnings off stderr.
 *
 * Source: Vulkan loader, LoaderDriverInterface.md, "Driver Discovery on Linux".
 */
export function vulkanDrivers(
  environment: Environment = process.env,
  systemFolders: readonly string[] = SYSTEM_FOLDERS,
): string[] {
  const named = environment.VK_DRIVER_FILES ?? environment.VK_ICD_FILENAMES;
  const places = named === undefined ? searchedPlaces(environment, systemFolders) : pathsIn(named);
  return [...new Set(places.flatMap(manifestsAt))].filter(hasLibrary);
}

function searchedPlaces(environment: Environment, systemFolders: readonly string[]): string[] {
  const { HOME = homedir(), XDG_CONFIG_HOME, XDG_CONFIG_DIRS, XDG_DATA_HOME, XDG_DATA_DIRS } = environment;
  const folders = [
    XDG_CONFIG_HOME ?? join(HOME, '.config'),
    ...pathsIn(XDG_CONFIG_DIRS ?? '/etc/xdg'),
    ...systemFolders,
    XDG_DATA_HOME ?? join(HOME, '.local', 'share'),
    ...pathsIn(XDG_DATA_DIRS ?? '/usr/local/share:/usr/share'),
  ];
  return [
    ...pathsIn(environment.VK_ADD_DRIVER_FILES ?? ''),
    ...folders.map((folder) => join(folder, 'vulkan', 'icd.d')),
  ];
}

function pathsIn(list: string): string[] {
  return list.split(':').filter((path) => path !== '');
}

/** The manifest at `path`, or all manifests in that folder. */
function manifestsAt(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile()) return [path];
  if (!found?.isDirectory()) return [];
  return readdirSync(path)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(path, name));
}

/** Whether a manifest can be read and its library may exist. A bare name is left to the dynamic linker to find. */
function hasLibrary(manifest: string): boolean {
  try {
    const { ICD } = JSON.parse(readFileSync(manifest, 'utf8')) as { ICD?: { library_path?: unknown } };
    const library = ICD?.library_path;
    if (typeof library !== 'string') return false;
    return !library.includes('/') || existsSync(resolve(dirname(manifest), library));
  } catch {
    return false;
  }
}
