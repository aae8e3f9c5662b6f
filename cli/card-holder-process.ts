import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DeviceLostError } from '../primitives/checks/errors.ts';
import type { CardHolder, CardSetting } from './card-holder.ts';

/** What the parent asks of the process that holds a card. */
export type HolderRequest =
  | { readonly ask: 'open'; readonly name: string | undefined }
  | { readonly ask: 'take'; readonly bytes: number }
  | { readonly ask: 'free' };
export type HolderAnswer = { readonly adapter: string } | { readonly failure: string };

/** How many milliseconds an answer may take, which includes the start of a driver. */
const PATIENCE = 60_000;

/**
 * Starts a process that holds a device of a card. The environment of a process decides which card it gets, and is read
 * once, so that every setting needs a process of its own.
 */
export async function holdCardElsewhere({ environment, name }: CardSetting): Promise<CardHolder> {
  const entry = import.meta.url.endsWith('.ts') ? './card-holder-child-boot.mjs' : './card-holder-child.js';
  const child = fork(fileURLToPath(new URL(entry, import.meta.url)), [], {
    env: { ...process.env, ...environment },
    execArgv: [],
    // The engine prints lines about drivers that do not fit.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // Whoever asks is told of an error. Without a listener, one that comes later would end this process.
  child.on('error', () => undefined);
  const close = (): Promise<void> => end(child);
  try {
    const adapter = await ask(child, { ask: 'open', name });
    return {
      pid: child.pid!,
      adapter,
      take: async (bytes) => void (await ask(child, { ask: 'take', bytes })),
      free: async () => void (await ask(child, { ask: 'free' })),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function ask(child: ChildProcess, request: HolderRequest): Promise<string> {
  const done = new AbortController();
  try {
    const { signal } = done;
    const answered = once(child, 'message', { signal }) as Promise<[HolderAnswer]>;
    const ended = Promise.race([once(child, 'exit', { signal }), delay(PATIENCE, undefined, { signal })]);
    child.send(request);
    const [answer] = await Promise.race([
      answered,
      ended.then((): [HolderAnswer] => [{ failure: 'It gave no answer.' }]),
    ]);
    if ('adapter' in answer) return answer.adapter;
    throw new DeviceLostError('device/trial', `A process that tries a card has failed: ${answer.failure}`);
  } finally {
    done.abort();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  // A process may hang in its driver.
  child.kill('SIGKILL');
  await exit;
}
