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

/** A headless Chromium whose WebGPU runs on the CPU, as a fallback adapter. The machine needs nothing installed for it. */
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

/** The folder of the browser, unpacked beside its place and renamed, so that several processes may do it at once. */
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

/** The package unpacks into the folder for temporary files, and uses what is there already. */
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

/** Shared libraries that Chromium needs, which the package unpacks on the machines of one vendor alone. */
async function unpackLibraries(folder: string): Promise<void> {
  const archive = await promisify(brotliDecompress)(await readFile(join(PACKAGE, 'bin', 'al2023.tar.br')));
  await mkdir(folder);
  for (const { name, bytes } of tarFiles(archive)) await writeFile(join(folder, basename(name)), bytes);
}
