import { describe, expect } from 'vitest';
import { checkFacts, factsOf } from '../../queues/check-server.ts';
import { connect, shownUrl } from '../../queues/connection.ts';
import { loadRedisPackages } from '../../queues/redis-packages.ts';
import { test } from '../law-test.ts';
import { describeWithRedis, freePort, startRedis } from '../support/redis-server.ts';

const packages = await loadRedisPackages();

describe('the URL', () => {
  test('is shown without its password', () => {
    expect(shownUrl('redis://:secret@host:6379')).toBe('redis://:***@host:6379');
    expect(shownUrl('secret')).not.toContain('secret');
  });

  test.each(['host:6379', '', 'http://host', 'redis-sentinel://host'])('is refused: %s', async (url) => {
    await expect(connect(url, packages)).rejects.toMatchObject({ code: 'graph/remote-url' });
  });

  test('without a server is refused in time, and the password is not told', async () => {
    const url = `redis://:secret@127.0.0.1:${await freePort()}`;
    const error = await connect(url, packages, { timeout: 300 }).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: 'graph/remote-server', message: expect.not.stringContaining('secret') });
    expect((error as Error).cause).toMatchObject({ code: 'ECONNREFUSED' });
  });
});

test('facts of a server decide', () => {
  const refusal = (...lines: string[]): unknown => {
    try {
      checkFacts(factsOf(`# Server\r\n${lines.join('\r\n')}\r\n`));
      return undefined;
    } catch (error) {
      return (error as { readonly code: string }).code;
    }
  };
  expect(refusal('redis_mode:cluster')).toBe('graph/remote-cluster');
  expect(refusal('redis_mode:standalone', 'cluster_enabled:1')).toBe('graph/remote-cluster');
  expect(refusal('redis_mode:sentinel')).toBe('graph/remote-sentinel');
  expect(refusal('redis_version:6.0.16')).toBe('graph/remote-redis-version');
  expect(refusal('redis_version:5.2')).toBe('graph/remote-redis-version');
  expect(refusal('maxmemory_policy:allkeys-lru')).toBe('graph/remote-eviction');
  expect(refusal('redis_version:6.2.1', 'maxmemory_policy:noeviction', 'cluster_enabled:0')).toBeUndefined();
  expect(refusal('redis_version:10.0.0')).toBeUndefined();
});

describeWithRedis('a real server', () => {
  test('is connected', async () => {
    await using server = await startRedis();
    const redis = await connect(server.url, packages);
    expect(await redis.ping()).toBe('PONG');
    redis.disconnect();
  });

  test('that dies and comes back is waited for', async () => {
    await using server = await startRedis();
    const redis = await connect(server.url, packages);
    await redis.set('kept', 'yes');
    await server.kill();
    const answer = redis.get('kept');
    await server.start();
    expect(await answer).toBe('yes');
    redis.disconnect();
  });

  test.each([
    [['--maxmemory-policy', 'allkeys-lru'], 'graph/remote-eviction'],
    [['--cluster-enabled', 'yes'], 'graph/remote-cluster'],
    [['--requirepass', 'other'], 'graph/remote-server'],
  ])('with %s is refused', async (settings, code) => {
    await using server = await startRedis(...settings);
    await expect(connect(server.url, packages)).rejects.toMatchObject({ code });
  });
});
