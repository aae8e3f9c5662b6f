import { join, resolve } from 'node:path';
import { Queue, Worker } from 'bullmq';
import { describe, expect } from 'vitest';
import { readThrown } from '../../../graph/remote/job-wire.ts';
import { checkJobAnswer, checkJobData } from '../../../queues/job-messages.ts';
import { fc, test } from '../../law-test.ts';
import { onQueue, someChores } from '../../queues/chores.ts';
import { describeFaults, type FaultPlace, until } from '../../queues/faults.ts';
import * as functions from '../../queues/queue-functions.ts';

const good = { run: 'r', job: 'j', module: 'own', name: 'double', payload: { inline: '' } };
const hash = 'a'.repeat(64);

describe('what another process says', () => {
  const either = <T>(value: T) => fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, fc.anything());

  test.prop([fc.anything()])('of any kind is refused by code, or has all that is needed', (value) => {
    for (const check of [checkJobData, checkJobAnswer]) expect(codeOf(() => check(value))).toBe('graph/remote-message');
  });

  test.prop([
    fc.record({ run: either('r'), job: either('j'), module: either('own'), name: either('f'), avoid: either([]) }),
  ])('of a job is refused, or leads to no other folder', (value) => {
    const code = codeOf(() => {
      const { run, job, module, name, avoid = [] } = checkJobData(value);
      const folder = resolve('/queue');
      for (const id of [run, job, module]) expect(resolve(folder, id)).toBe(join(folder, id));
      expect([typeof name, ...avoid.map((each) => typeof each)].every((type) => type === 'string')).toBe(true);
    });
    expect([undefined, 'graph/remote-message']).toContain(code);
  });

  test.each(['..', '.', 'a/b', '../x', 'a\\b', '', 'a\n', '.hidden', 'a\0'])('cannot name the folder %j', (run) => {
    expect(codeOf(() => checkJobData({ ...good, run }))).toBe('graph/remote-message');
    expect(codeOf(() => checkJobData({ ...good, job: run }))).toBe('graph/remote-message');
  });

  test.prop([fc.record({ worker: either('w'), started: either(1), ended: either(2) })])(
    'of a result is refused, or has a worker and times',
    (value) => {
      const code = codeOf(() => {
        const answer = checkJobAnswer(value) as unknown as Record<string, unknown>;
        expect(typeof answer.worker).toBe('string');
        expect([answer.started, answer.ended].every(Number.isFinite)).toBe(true);
      });
      expect([undefined, 'graph/remote-message']).toContain(code);
    },
  );
});

function codeOf(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return (error as { readonly code?: string }).code;
  }
}

/** Data of jobs that are none, as a program that is no parent could add them. */
const JOBS: readonly unknown[] = [
  ...[null, 7, 'text', [], {}, { ...good, run: '../..' }, { ...good, job: '/etc/passwd' }, { ...good, module: {} }],
  { ...good, payload: undefined },
  { ...good, payload: { inline: '!!!' } },
  { ...good, payload: { inline: 'AAAA' } },
  { ...good, payload: { file: `../../etc/passwd.${hash}`, hash, length: 7 } },
  { ...good, payload: { file: `j.items.${hash}`, hash, length: 7 } },
  { ...good, module: 'other' },
  { ...good, name: '__proto__', payload: { inline: 'AAAA' } },
];

/** Answers that are none. */
const ANSWERS: readonly unknown[] = [
  ...[null, 7, 'text', [], {}, { worker: 'w' }, { worker: 'w', started: 1, ended: 2 }],
  { worker: 'w', error: 'AAAA' },
  { worker: 'w', error: '' },
  { worker: 'w', started: 1, ended: 2, payload: { file: `../../etc/passwd.${hash}`, hash, length: 7 } },
  { worker: 'w', started: 1, ended: 2, payload: { file: `j.results.${hash}`, hash, length: 7 } },
];

const connection = ({ redis }: FaultPlace) => ({ port: Number(new URL(redis.url).port), maxRetriesPerRequest: null });

describeFaults('garbage on a queue', { usual: 1, concurrent: true }, (fault) => {
  fault('as jobs is refused by code, and holds nobody up', async (place, random) => {
    const worker = await place.worker({ lanes: 2 });
    const queue = await place.queue();
    const bull = new Queue(place.settings.queue, { connection: connection(place), skipMetasUpdate: true });
    for (const [i, data] of JOBS.entries()) await bull.add('garbage', data, { jobId: `garbage-${i}` });
    // A job without any data, and one that is no JSON.
    await place.client.lpush(bull.toKey('wait'), 'none');
    await place.client.hset(bull.toKey('broken'), 'data', '{', 'name', 'x', 'opts', '{}', 'timestamp', '1');
    await place.client.lpush(bull.toKey('wait'), 'broken');
    await place.client.hset(`quadrille:${place.settings.queue}:members`, 'x', '{', 'y', '7');
    await place.client.xadd(bull.toKey('events'), '*', 'event', 'completed', 'jobId', 'x', 'returnvalue', '{');
    await place.do(queue, someChores(random, 20));
    for (const [i] of JOBS.entries()) {
      await until(async () => (await bull.getJobState(`garbage-${i}`)) === 'completed', `garbage ${i} was refused`);
      const { error } = (await bull.getJob(`garbage-${i}`))!.returnvalue;
      const refusal = readThrown(Uint8Array.from(Buffer.from(error, 'base64')));
      expect(refusal).toMatchObject({ code: expect.stringMatching(/^graph\/remote-/) });
    }
    expect(worker.process.exitCode).toBeNull();
    await queue.close();
    await bull.close();
  });

  fault('as answers is refused by code, and once or twice is made good', async (place, random) => {
    const queue = await place.queue();
    const answers = [...ANSWERS];
    const liar = new Worker(place.settings.queue, async () => answers[random.between(0, answers.length)], {
      connection: connection(place),
    });
    liar.on('error', () => undefined);
    const run = onQueue(queue, functions.double, [1]);
    await expect(run).rejects.toMatchObject({ cause: { code: expect.stringMatching(/^graph\/remote-/) } });
    // A liar that leaves after its first lies.
    let lies = 0;
    const leaves = new Worker(
      place.settings.queue,
      async () => {
        lies++;
        void leaves.pause(true);
        return answers[random.between(0, answers.length)];
      },
      { connection: connection(place), autorun: false },
    );
    leaves.on('error', () => undefined);
    await liar.close();
    void leaves.run();
    const chores = place.do(queue, someChores(random, 5));
    await until(() => lies > 0, 'a lie');
    await leaves.close();
    await place.worker();
    await chores;
    await queue.close();
  });
});
