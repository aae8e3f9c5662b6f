import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Starts a Redis server of this program on a free port, with its files in a folder. It may not answer yet. */
export async function startRedis(
  folder: string,
  settings: readonly string[] = [],
): Promise<{ readonly server: ChildProcess; readonly port: number; readonly url: string }> {
  const port = await freePort();
  const always = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  const server = spawn('redis-server', [...always, ...settings], { stdio: 'ignore' });
  return { server, port, url: `redis://127.0.0.1:${port}` };
}

async function freePort(): Promise<number> {
  const listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port: free } = listening.address() as { readonly port: number };
  listening.close();
  await once(listening, 'close');
  return free;
}
