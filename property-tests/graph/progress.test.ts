import { EMPTY, lastValueFrom, type MonoTypeOperatorFunction, NEVER, type Observable, throwError } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect } from 'vitest';
import { type ProgressReport, progress, pull, stage } from '../../graph/index.ts';
import { fc, test } from '../law-test.ts';
import { meteredSource, settled } from './graph-harness.ts';

const newScheduler = (): TestScheduler => new TestScheduler((actual, expected) => expect(actual).toEqual(expected));

const report = (done: number, total: number | undefined, elapsed: number): ProgressReport => {
  const rate = elapsed > 0 ? done / elapsed : 0;
  return { done, total, rate, eta: total === undefined || rate === 0 ? undefined : (total - done) / rate, elapsed };
};

describe('progress$', () => {
  test('reports at once, then at most once per interval and at the end, and completes', () => {
    const scheduler = newScheduler();
    scheduler.run(({ hot, expectObservable }) => {
      const counted = progress({ total: 8, every: 5, scheduler });
      hot('-a-a-a------a--|').subscribe({ next: () => counted.advance(2), complete: () => counted.end() });
      expectObservable(counted.progress$).toBe('s----t------v--(w|)', {
        s: report(0, 8, 0),
        t: report(6, 8, 0.005),
        v: report(8, 8, 0.012),
        w: report(8, 8, 0.015),
      });
    });
  });

  test('accepts a later total; without one there is no remaining time', () => {
    const scheduler = newScheduler();
    scheduler.run(({ hot, expectObservable }) => {
      const counted = progress({ every: 1, scheduler });
      hot('--at|').subscribe({
        next: (event) => (event === 'a' ? counted.advance() : counted.expect(4)),
        complete: () => counted.end(),
      });
      expectObservable(counted.progress$).toBe('s-at(e|)', {
        s: report(0, undefined, 0),
        a: report(1, undefined, 0.002),
        t: report(1, 4, 0.003),
        e: report(1, 4, 0.004),
      });
    });
  });

  test('gives late subscribers the last report, with the time of the end', () => {
    const scheduler = newScheduler();
    scheduler.run(({ cold, expectObservable }) => {
      const counted = progress({ total: 2, scheduler });
      cold('---x').subscribe(() => {
        counted.advance(1);
        counted.end();
      });
      expectObservable(counted.progress$, '------^').toBe('------(e|)', { e: report(1, 2, 0.003) });
    });
  });

  test('leaves no timer when it is unsubscribed', () => {
    const scheduler = newScheduler();
    scheduler.run(({ hot, expectObservable }) => {
      const counted = progress({ every: 5, scheduler });
      hot('-a-a-a-a-a').subscribe(() => counted.advance());
      expectObservable(counted.progress$, '^--!').toBe('s--', { s: report(0, undefined, 0) });
    });
    expect(scheduler.actions).toHaveLength(0);
  });
});

describe('track', () => {
  test.prop({ weights: fc.array(fc.nat({ max: 100 }), { maxLength: 30 }) })(
    'counts the items that pass, and ends with the stream',
    async ({ weights }) => {
      const counted = progress({ total: 1000 });
      const last = lastValueFrom(counted.progress$);
      pull(weights)
        .pipe(counted.track((weight) => weight))
        .subscribe();
      expect((await last).done).toBe(weights.reduce((a, b) => a + b, 0));
    },
  );

  const ends: Record<string, (stream: Observable<never>, track: MonoTypeOperatorFunction<never>) => void> = {
    complete: (_, track) => void EMPTY.pipe(track).subscribe(),
    error: (_, track) =>
      void throwError(() => new Error('broken'))
        .pipe(track)
        .subscribe({ error: () => {} }),
    unsubscribe: (stream, track) => stream.pipe(track).subscribe().unsubscribe(),
  };
  for (const [name, end] of Object.entries(ends)) {
    test(`ends on ${name}`, async () => {
      const counted = progress();
      end(NEVER, counted.track());
      expect((await lastValueFrom(counted.progress$)).done).toBe(0);
    });
  }

  test('passes demand through between two stages', async () => {
    const source = meteredSource(100);
    const counted = progress();
    const idle = stage('idle', () => new Promise<number>(() => {}), { capacity: 2 });
    const subscription = pull(source).pipe(counted.track(), idle).subscribe();
    await settled();
    expect(source.made).toBe(3);
    subscription.unsubscribe();
  });
});
