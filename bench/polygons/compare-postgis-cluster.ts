import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface ClusterOptions {
  /** The folder of PostgreSQL's programs initdb, pg_ctl and psql. */
  readonly bin: string;
  /** Maximum number of parallel workers per query. */
  readonly workers: number;
  /** The user that runs the server if this process runs as root, because PostgreSQL refuses to run as root. */
  readonly user: string;
}

/**
 * A private PostgreSQL server with PostGIS. The server listens only on a socket in its own folder. Disposing of the
 * cluster stops the server and removes the folder.
 */
export interface Cluster extends AsyncDisposable {
  /** Runs SQL statements; returns their output without headers. */
  sql(statements: string): Promise<string>;
  /** Processor seconds of all server processes that have ended, among them workers and sessions. */
  processorSeconds(): Promise<number>;
  /** Copies lines of text into a table; `into` names the table and its columns. */
  copy(into: string, lines: AsyncIterable<Uint8Array>): Promise<void>;
}

/** Clock ticks per second in the process times of Linux. */
const TICKS = 100;

/** PostgreSQL settings with which PostGIS is fastest: all data in memory, no syncing to disk, enough workers. */
function settings(workers: number): string[] {
  const values = {
    listen_addresses: "''",
    shared_buffers: '4GB',
    work_mem: '256MB',
    maintenance_work_mem: '1GB',
    max_wal_size: '16GB',
    wal_level: 'minimal',
    max_wal_senders: '0',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    autovacuum: 'off',
    jit: 'off',
    max_worker_processes: String(workers + 8),
    max_parallel_workers: String(workers),
    max_parallel_workers_per_gather: String(workers),
    parallel_leader_participation: 'off',
    parallel_setup_cost: '0',
    parallel_tuple_cost: '0',
    min_parallel_table_scan_size: '0',
    min_parallel_index_scan_size: '0',
  };
  return Object.entries(values).map(([name, value]) => `-c ${name}=${value}`);
}

/** Starts a server in a new temporary folder. */
export async function startCluster({ bin, workers, user }: ClusterOptions): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'compare-postgis-'));
  const owner = await ownerOf(user);
  if (owner.uid !== undefined) await chown(folder, owner.uid, owner.gid!);
  const data = join(folder, 'data');
  const tool = (name: string, ...args: string[]) => run(join(bin, name), args, { ...owner, cwd: folder });
  await tool('initdb', '-D', data, '-A', 'trust', '-U', 'bench', '--no-sync');
  const parameters = [`-k ${folder}`, ...settings(workers)].join(' ');
  await tool('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-w', '-o', parameters, 'start');
  const psql = ['-h', folder, '-U', 'bench', '-d', 'postgres', '-qAtX', '-v', 'ON_ERROR_STOP=1'];
  const sql = async (statements: string): Promise<string> => {
    return (await tool('psql', ...psql, '-c', statements)).stdout.trim();
  };
  await sql('CREATE EXTENSION postgis');
  return {
    sql,
    processorSeconds: async () => {
      // The server counts a session's time only shortly after the session's client has ended, so wait.
      await setTimeout(500);
      const [pid] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n');
      const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/.*\) /, '').split(' ');
      return (Number(fields[13]) + Number(fields[14])) / TICKS;
    },
    async copy(into, lines) {
      const child = spawn(join(bin, 'psql'), [...psql, '-c', `COPY ${into} FROM STDIN`], {
        ...owner,
        cwd: folder,
        stdio: ['pipe', 'inherit', 'inherit'],
      });
      const closed = once(child, 'close');
      for await (const bytes of lines) if (!child.stdin.write(bytes)) await once(child.stdin, 'drain');
      child.stdin.end();
      const [code] = await closed;
      if (code !== 0) throw new Error(`COPY ${into} ended with ${code}`);
    },
    async [Symbol.asyncDispose]() {
      await tool('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
      await rm(folder, { recursive: true });
    },
  };
}

/** The user and group ids under which PostgreSQL's programs run; empty if this process does not run as root. */
async function ownerOf(user: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const id = async (flag: string): Promise<number> => Number((await run('id', [flag, user])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}
