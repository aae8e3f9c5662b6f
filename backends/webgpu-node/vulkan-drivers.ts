import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** System folders to search for drivers, in addition to the folders that environment variables name. */
const SYSTEM_FOLDERS = ['/usr/local/etc', '/etc', '/run/opengl-driver/share', '/usr/lib/x86_64-linux-gnu/GL'];

/**
 * The paths of the manifests (JSON files) of the Vulkan drivers installed on a Linux machine, in the order that the
 * Vulkan loader documents. Manifests whose libraries do not exist are left out. If `VK_DRIVER_FILES` (or else
 * `VK_ICD_FILENAMES`) is set, only the paths in this variable are searched. Otherwise the search covers the paths in
 * `VK_ADD_DRIVER_FILES` and the folders `vulkan/icd.d` in the user's and the system's configuration and data folders.
 *
 * If there is no driver, the caller can skip Dawn, whose Vulkan loader would print warnings to stderr.
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

/** If `path` is a file, returns it; if `path` is a folder, returns all manifests in it. */
function manifestsAt(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile()) return [path];
  if (!found?.isDirectory()) return [];
  return readdirSync(path)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(path, name));
}

/**
 * Whether a manifest can be read and names a library that exists. A name without a folder always passes, because the
 * dynamic linker searches for it.
 */
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

/** Names in `/dev` of devices through which drivers reach a GPU: of any vendor, NVIDIA, WSL, Arm, Qualcomm and Tegra. */
const DEVICE_NODES = /^(dri\/renderD\d+|nvidia.*|dxg|mali\d+|kgsl-.*|nvhost-gpu)$/;

/**
 * Whether a Linux machine has a device node of a GPU. Without one, all Vulkan drivers there are software, however many
 * are installed.
 */
export function hasGpuNode(folder = '/dev'): boolean {
  const inFolder = (path: string): string[] => {
    try {
      return readdirSync(path);
    } catch {
      return [];
    }
  };
  const names = [...inFolder(folder), ...inFolder(join(folder, 'dri')).map((name) => `dri/${name}`)];
  return names.some((name) => DEVICE_NODES.test(name));
}
