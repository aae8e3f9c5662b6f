import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import unpacker from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';
import manifest from '../../package.json' with { type: 'json' };

const version = manifest.devDependencies['@sparticuz/chromium'];

/** A headless Chromium whose WebGPU runs on the CPU, as a fallback adapter. */
export async function launchChromium(): Promise<Browser> {
  const webgpu = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan'];
  return chromium.launch({
    executablePath: await unpackedChromium(),
    headless: true,
    args: ['--no-sandbox', ...webgpu],
  });
}

/** The browser of `@sparticuz/chromium`, unpacked beside its place and renamed, so that several processes may do it at once. */
async function unpackedChromium(): Promise<string> {
  const before = process.env.TMPDIR;
  const target = join(tmpdir(), `quadrille-chromium-${version}`);
  if (!existsSync(target)) {
    const partial = await mkdtemp(`${target}-`);
    try {
      // The package unpacks into the folder for temporary files, and uses what is there already.
      process.env.TMPDIR = partial;
      await unpacker.executablePath();
      await rename(partial, target).catch((error: unknown) => {
        if (!existsSync(target)) throw error;
      });
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      await rm(partial, { recursive: true, force: true });
    }
  }
  return join(target, 'chromium');
}
