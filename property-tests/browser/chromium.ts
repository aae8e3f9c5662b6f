import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import unpacker from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';
import { tarFiles } from '../../backends/webgpu-node/tar-files.ts';
import manifest from '../../package.json' with { type: 'json' };

const PACKAGE = join(import.meta.dirname, '..', '..', 'node_modules', '@sparticuz', 'chromium');
const version = manifest.devDependencies['@sparticuz/chromium'];

/** Launches a headless Chromium. Its WebGPU fallback adapter runs on the CPU, and nothing has to be installed. */
export async function launchChromium(): Promise<Browser> {
  const folder = await unpackedChromium();
  const webgpu = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan'];
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    headless: true,
    args: ['--no-sandbox', ...webgpu],
    env: { ...process.env, LD_LIBRARY_PATH: join(folder, 'lib') },
  });
}

/**
 * Returns the folder of the unpacked browser. Several processes may unpack concurrently: each process unpacks into a
 * new folder, and then renames this folder.
 */
async function unpackedChromium(): Promise<string> {
  const target = join(tmpdir(), `quadrille-chromium-${version}`);
  if (existsSync(target)) return target;
  const partial = await mkdtemp(`${target}-`);
  try {
    await unpackBrowser(partial);
    await unpackLibraries(join(partial, 'lib'));
    await rename(partial, target).catch((error: unknown) => {
      if (!existsSync(target)) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return target;
}

/**
 * Unpacks the browser into `folder`. The package of the browser unpacks into the temporary folder, and reuses files
 * that are already there. So `folder` is the temporary folder meanwhile.
 */
async function unpackBrowser(folder: string): Promise<void> {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  try {
    await unpacker.executablePath();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

/** Unpacks shared libraries that Chromium needs. The browser's package does this only on the machines of one vendor. */
async function unpackLibraries(folder: string): Promise<void> {
  const archive = await promisify(brotliDecompress)(await readFile(join(PACKAGE, 'bin', 'al2023.tar.br')));
  await mkdir(folder);
  for (const { name, bytes } of tarFiles(archive)) await writeFile(join(folder, basename(name)), bytes);
}
