import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { constants, homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { installRemedy } from '../../primitives/host/optional-packages.ts';
import { tarFiles } from './tar-files.ts';
import { hasGpuNode, vulkanDrivers } from './vulkan-drivers.ts';

const PACKAGE = '@sparticuz/chromium';
const LOADER = 'libvulkan.so.1';
const MANIFEST = 'vk_swiftshader_icd.json';
/** A flag of `dlopen` that keeps the library loaded, so that Dawn finds it by its name. */
const RTLD_NODELETE = 0x1000;

const ENVIRONMENT = ['VK_ICD_FILENAMES', 'VK_DRIVER_FILES'] as const;
/** The values of the `ENVIRONMENT` variables before {@link useSoftwareVulkan} set them. */
let replaced: readonly (string | undefined)[] | undefined;

/**
 * Selects SwiftShader, a Vulkan driver for the CPU: the next `create()` of the npm package `webgpu` uses this driver.
 *
 * The driver comes from the optional package `@sparticuz/chromium` (Linux on x64) and is unpacked once into the user's
 * cache folder. The driver is selected through environment variables of the process. A worker thread can only change
 * its own copy of these variables, so the main thread must call this function before it starts the worker.
 *
 * @throws DeviceLostError `device/software-adapter-missing` where the package is not installed or does not fit the
 * machine.
 * @example
 * await useSoftwareVulkan();
 * process.env.VK_DRIVER_FILES.endsWith('.json'); // true
 */
export async function useSoftwareVulkan(): Promise<void> {
  const folder = await unpackedDriver();
  replaced ??= ENVIRONMENT.map((name) => process.env[name]);
  for (const name of ENVIRONMENT) process.env[name] = join(folder, MANIFEST);
  const library = join(folder, LOADER);
  const failure = openLibrary(library, RTLD_NODELETE);
  if (failure !== undefined) throw missing(failure);
}

/**
 * Restores the variables that {@link useSoftwareVulkan} set, so that the next `create()` finds the system's drivers.
 */
export function useSystemVulkan(): void {
  for (const [i, name] of ENVIRONMENT.entries()) {
    const before = replaced?.[i];
    if (before !== undefined) process.env[name] = before;
    else if (replaced !== undefined) delete process.env[name];
  }
  replaced = undefined;
}

/**
 * A sentence that says what the system lacks to run Vulkan on the given kind of adapter; undefined if nothing is
 * missing. If something is missing, Dawn and the Vulkan loader would print warnings to stderr and take 0.1 to 0.6 s, so
 * callers should check before they open Dawn.
 */
export function missingForVulkan(adapter: 'hardware' | 'auto'): string | undefined {
  if (process.platform !== 'linux') return undefined;
  if (adapter === 'hardware' && !hasGpuNode()) {
    return 'There is no GPU on this machine: /dev has no dri/renderD*, nvidia* or dxg, which a container must be given.';
  }
  if (openLibrary(LOADER, 0) !== undefined) return `There is no Vulkan loader (${LOADER}) on this machine.`;
  return vulkanDrivers().length === 0 ? 'There is no Vulkan driver on this machine.' : undefined;
}

function openLibrary(path: string, flags: number): unknown {
  try {
    process.dlopen({ exports: {} }, path, constants.dlopen.RTLD_NOW | flags);
  } catch (error) {
    // Node reports that the library is not a Node addon, which shows that it was loaded.
    if (error instanceof Error && error.message.includes('did not self-register')) return undefined;
    return error;
  }
  return undefined;
}

async function unpackedDriver(): Promise<string> {
  const home = packageFolder();
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { version: string };
  const target = join(cacheFolder(), `swiftshader-${version}`);
  if (existsSync(join(target, MANIFEST))) return target;
  try {
    return await unpack(join(home, 'bin', 'swiftshader.tar.br'), target);
  } catch (cause) {
    throw missing(cause);
  }
}

function packageFolder(): string {
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(PACKAGE))), '..', '..');
  } catch (cause) {
    throw missing(cause);
  }
}

function missing(cause: unknown): DeviceLostError {
  return new DeviceLostError('device/software-adapter-missing', 'The software adapter cannot be started.', {
    remedy: `It runs only on Linux x64; elsewhere, choose another adapter. ${installRemedy([PACKAGE])}`,
    cause,
  });
}

function cacheFolder(): string {
  const home = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  return existsSync(dirname(home)) ? join(home, 'quadrille') : join(tmpdir(), `quadrille-${process.getuid?.() ?? 0}`);
}

/**
 * Unpacks into a temporary folder next to `target` and renames this folder to `target`, so that several processes can
 * unpack at the same time.
 */
async function unpack(archive: string, target: string): Promise<string> {
  await mkdir(dirname(target), { recursive: true });
  const partial = await mkdtemp(`${target}-`);
  try {
    await extractFiles(await promisify(brotliDecompress)(await readFile(archive)), partial);
    await rename(partial, target).catch((error: unknown) => {
      if (!existsSync(join(target, MANIFEST))) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return target;
}

async function extractFiles(archive: Uint8Array, folder: string): Promise<void> {
  for (const { name, bytes } of tarFiles(archive)) await writeFile(join(folder, basename(name)), bytes);
}
