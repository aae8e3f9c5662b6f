import { once } from 'node:events';
import { createServer, connect as open, type Socket } from 'node:net';

/** A way to a Redis server that a test can block. */
export interface RedisProxy {
  readonly url: string;
  /** Ends all connections, and refuses new ones. */
  cut(): void;
  /** Lets nothing through, and says nothing. */
  freeze(): void;
  /** Lets everything through again. */
  restore(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startProxy(url: string): Promise<RedisProxy> {
  const port = Number(new URL(url).port);
  const pairs = new Set<readonly [Socket, Socket]>();
  let state: 'open' | 'cut' | 'frozen' = 'open';
  const server = createServer((near) => {
    if (state === 'cut') return void near.destroy();
    const far = open(port, '127.0.0.1');
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.pipe(to);
      from.on('error', () => undefined);
      from.on('close', () => {
        pairs.delete(pair);
        to.destroy();
      });
    }
    if (state === 'frozen') stop(pair);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as { readonly port: number }).port}`,
    cut: () => {
      state = 'cut';
      for (const [near] of pairs) near.destroy();
    },
    freeze: () => {
      state = 'frozen';
      for (const pair of pairs) stop(pair);
    },
    restore: () => {
      state = 'open';
      for (const [near, far] of pairs) {
        near.pipe(far);
        far.pipe(near);
      }
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const [near] of pairs) near.destroy();
      await once(server, 'close');
    },
  };
}

function stop([near, far]: readonly [Socket, Socket]): void {
  near.unpipe(far);
  far.unpipe(near);
  near.pause();
  far.pause();
}
