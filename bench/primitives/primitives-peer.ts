import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The peer: a running C++ program, compiled from `peers/primitives.cpp`. */
export interface Peer {
  readonly compiler: string;
  /** Runs a primitive `calls` times; returns the milliseconds of one call and the checksum of its result. */
  time(name: string, n: number, threads: number, calls: number): Promise<{ milliseconds: number; checksum: number }>;
  close(): void;
}

/** Compiles the peer with g++ and starts it. Undefined if there is no g++. */
export function openPeer(): Peer | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'quadrille-peer-'));
  const program = join(folder, 'primitives');
  const source = fileURLToPath(new URL('../peers/primitives.cpp', import.meta.url));
  try {
    const [compiler] = execFileSync('g++', ['--version'], { encoding: 'utf8' }).split('\n');
    execFileSync('g++', ['-O3', '-march=native', '-std=c++20', '-pthread', '-o', program, source]);
    return serve(spawn(program, ['--serve'], { stdio: ['pipe', 'pipe', 'inherit'] }), compiler!, folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function serve(process: ChildProcess, compiler: string, folder: string): Peer {
  const lines = createInterface({ input: process.stdout! })[Symbol.asyncIterator]();
  return {
    compiler,
    async time(name, n, threads, calls) {
      process.stdin!.write(`${name} ${n} ${threads} ${calls}\n`);
      const { value } = await lines.next();
      const [nanoseconds, checksum] = String(value).split(' ').map(Number);
      if (!Number.isFinite(nanoseconds)) throw new Error(`the peer answers ${value}`);
      return { milliseconds: nanoseconds! / 1e6, checksum: checksum! };
    },
    close() {
      process.stdin!.end();
      rmSync(folder, { recursive: true });
    },
  };
}
