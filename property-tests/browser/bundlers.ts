import { join } from 'node:path';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { build as buildWithEsbuild } from 'esbuild';
import { rollup } from 'rollup';
import { build as buildWithVite, createLogger, type Logger, type Rolldown } from 'vite';
import webpack from 'webpack';

/** The scripts that a bundler made. */
export interface Bundle {
  /** The path of the script that a page loads. `module` says whether the script is a module. */
  readonly script: string;
  readonly module: boolean;
  /** The texts of all scripts by path, including those of workers. */
  readonly scripts: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

/** Bundles `folder/entry` for pages, with the bundler's default settings. Rejects if the bundler fails. */
export type Bundler = (folder: string, entry: string) => Promise<Bundle>;

export const bundlers: Readonly<Record<string, Bundler>> = {
  async esbuild(folder, entry) {
    const { outputFiles, warnings } = await buildWithEsbuild({
      absWorkingDir: folder,
      entryPoints: [entry],
      bundle: true,
      write: false,
      logLevel: 'silent',
    });
    const scripts = { '/main.js': outputFiles[0]!.text };
    return { script: '/main.js', module: false, scripts, warnings: warnings.map(({ text }) => text) };
  },

  async rollup(folder, entry) {
    const warnings: string[] = [];
    const bundle = await rollup({
      input: join(folder, entry),
      plugins: [nodeResolve()],
      onwarn: ({ message }) => warnings.push(message),
    });
    const { output } = await bundle.generate({ format: 'es' });
    await bundle.close();
    const chunks = output.filter((file) => file.type === 'chunk');
    return { ...scriptsOf(chunks), module: true, warnings };
  },

  async vite(folder, entry) {
    const { warnings, logger } = collectingLogger();
    const result = (await buildWithVite({
      root: folder,
      configFile: false,
      customLogger: logger,
      logLevel: 'warn',
      build: { write: false, rolldownOptions: { input: join(folder, entry) } },
    })) as Rolldown.RolldownOutput;
    const chunks = result.output.filter((file) => file.type === 'chunk');
    const assets = result.output.filter((file) => file.type === 'asset');
    const { script, scripts } = scriptsOf(chunks);
    const others = assets.map(({ fileName, source }) => [`/${fileName}`, `${source}`]);
    return { script, scripts: { ...scripts, ...Object.fromEntries(others) }, module: true, warnings };
  },

  'webpack for development': (folder, entry) => bundleWithWebpack(folder, entry, 'development'),
  webpack: (folder, entry) => bundleWithWebpack(folder, entry, 'production'),
};

async function bundleWithWebpack(folder: string, entry: string, mode: 'development' | 'production'): Promise<Bundle> {
  const compiler = webpack({ mode, context: folder, entry: `./${entry}`, output: { path: '/' } });
  const scripts: Record<string, string> = {};
  compiler.outputFileSystem = collectingFiles(scripts) as never;
  const stats = await new Promise<webpack.Stats>((resolve, reject) => {
    compiler.run((error, stats) => (error ? reject(error) : resolve(stats!)));
  });
  await new Promise((resolve) => compiler.close(resolve));
  const { errors = [], warnings = [] } = stats.toJson({ all: false, errors: true, warnings: true });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  return { script: '/main.js', module: false, scripts, warnings: warnings.map(({ message }) => message) };
}

interface Chunk {
  readonly fileName: string;
  readonly code: string;
  readonly isEntry: boolean;
}

function scriptsOf(chunks: readonly Chunk[]): Pick<Bundle, 'script' | 'scripts'> {
  const scripts = Object.fromEntries(chunks.map(({ fileName, code }) => [`/${fileName}`, code]));
  return { script: `/${chunks.find(({ isEntry }) => isEntry)!.fileName}`, scripts };
}

function collectingLogger(): { readonly warnings: string[]; readonly logger: Logger } {
  const warnings: string[] = [];
  const collect = (message: string): void => void warnings.push(message);
  return { warnings, logger: { ...createLogger('silent'), warn: collect, warnOnce: collect, error: collect } };
}

type Done = (error: null, result?: unknown) => void;

/** An in-memory file system with the functions that webpack needs for writing. */
function collectingFiles(scripts: Record<string, string>): object {
  return {
    join,
    mkdir: (_: string, done: Done) => done(null),
    stat: (_: string, done: (error: Error) => void) => done(Object.assign(new Error('none'), { code: 'ENOENT' })),
    writeFile: (path: string, content: Buffer, done: Done) => {
      scripts[path] = content.toString();
      done(null);
    },
  };
}
