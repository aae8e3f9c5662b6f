import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { WIRE_VERSION } from '../graph/remote/wire-form.ts';
import { GraphError } from '../primitives/checks/errors.ts';
import { connect } from './connection.ts';
import { folderId } from './folder-id.ts';
import { PACKAGE_VERSION } from './package-version.ts';
import { isFull, memoryError } from './queue-errors.ts';
import { type FullSettings, keysOf } from './queue-settings.ts';
import type { WorkerStatus } from './queue-status.ts';
import type { RedisPackages } from './redis-packages.ts';

/** Milliseconds between two signs of life. */
const BEAT = 2000;
/** A member that gave no sign of life for so many milliseconds is not counted. */
const MEMBER_TIMEOUT = 10_000;
/** Milliseconds for which a queue without members keeps what its members agreed on. */
const JOIN_TIMEOUT = 30_000;

/** A process that uses a queue, as the others see it. Times are milliseconds since 1970 by the clock of the server. */
export interface Member extends Omit<WorkerStatus, 'name'> {
  readonly kind: 'parent' | 'worker';
  readonly seen: number;
}

/** What a member says of itself, anew with every sign of life. */
export type OwnFacts = () => Pick<Member, 'kind' | 'lanes' | 'done' | 'label'>;

/** What members must agree on. */
interface Agreement {
  readonly wire: number;
  readonly version: string;
  readonly lock: number;
  readonly folder: string;
}

/**
 * The membership of a process in a queue. It has a connection of its own, whose name is the id of the member: when the
 * process dies, the server closes the connection, and the others know at once.
 */
export class Membership {
  readonly id: string;
  readonly redis: Redis;
  readonly #keys: ReturnType<typeof keysOf>;
  readonly #agreement: Agreement;
  readonly #facts: OwnFacts;
  /** When the connection was made again after it had been cut, by `performance.now()`. */
  reconnectedAt: number = Number.NEGATIVE_INFINITY;
  #started = 0;
  /** Clock of the server less that of this process. */
  #ahead = 0;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #isLeaving = false;
  /** Called if the queue does not take this member any more: the server forgot what members agreed on, and others came first. */
  onRefused: (error: GraphError) => void = () => {};

  private constructor(id: string, redis: Redis, queue: string, agreement: Agreement, facts: OwnFacts) {
    this.id = id;
    this.redis = redis;
    this.#keys = keysOf(queue);
    this.#agreement = agreement;
    this.#facts = facts;
  }

  /**
   * Joins a queue.
   *
   * @throws `GraphError` `graph/remote-version`, `graph/remote-folder` or `graph/remote-lock` if the other members have
   * another version of the package, see another folder or have another time of locks; the errors of `connect`.
   */
  static async join(settings: FullSettings, packages: RedisPackages, facts: OwnFacts): Promise<Membership> {
    const folder = await folderId(settings.folder);
    const id = newId();
    const redis = await connect(settings.url, packages, { name: id });
    const agreement = { wire: WIRE_VERSION, version: PACKAGE_VERSION, lock: settings.lock, folder };
    const member = new Membership(id, redis, settings.queue, agreement, facts);
    try {
      await member.#beat();
      // Sees who joined at the same time.
      await member.#beat();
    } catch (error) {
      redis.disconnect();
      throw isFull(error) ? memoryError(0, error) : error;
    }
    redis.on('ready', () => {
      member.reconnectedAt = performance.now();
    });
    member.#plan();
    return member;
  }

  /** Milliseconds since 1970 by the clock of the server. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Converts a time by the clock of this process to the clock of the server. */
  toServerClock(time: number): number {
    return time + this.#ahead;
  }

  /** Converts a time by the clock of the server to the clock of this process. */
  toOwnClock(time: number): number {
    return time - this.#ahead;
  }

  /** The members that gave a sign of life lately. */
  async members(): Promise<ReadonlyMap<string, Member>> {
    return readMembers(this.redis, this.#keys.members, this.now());
  }

  /** The ids of the workers that gave a sign of life lately. */
  async workers(): Promise<string[]> {
    return [...(await this.members())].filter(([, { kind }]) => kind === 'worker').map(([id]) => id);
  }

  /** The members that are connected now, too. */
  connectedMembers(): Promise<ReadonlyMap<string, Member>> {
    return readConnected(this.redis, this.#keys.members);
  }

  /** The ids of the members that are connected now. A stopped process stays connected, one that died does not. */
  connected(): Promise<ReadonlySet<string>> {
    return readConnections(this.redis);
  }

  /** Leaves the queue, without waiting for a server that is away. */
  async leave(): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    clearTimeout(this.#timer);
    if (this.redis.status === 'ready') {
      await soon(Promise.resolve(this.#beating));
      await soon(this.redis.hdel(this.#keys.members, this.id));
    }
    this.redis.disconnect();
  }

  #plan(): void {
    this.#timer = setTimeout(() => {
      // Errors of the connection pass.
      this.#beating = this.#beat().catch((problem: unknown) => {
        if (problem instanceof GraphError) this.onRefused(problem);
      });
      void this.#beating.then(() => this.#isLeaving || this.#plan());
    }, BEAT);
  }

  /** Gives a sign of life, and checks that all members agree. */
  async #beat(): Promise<void> {
    const { join, members } = this.#keys;
    const before = Date.now();
    const [[, time], [, known]] = (await this.redis.multi().time().hgetall(join).exec()) as [
      [null, [string, string]],
      [null, Record<string, string>],
    ];
    this.#ahead = Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000) - (before + Date.now()) / 2;
    this.#started ||= this.now();
    await this.#check(known);
    const own: Member = {
      ...this.#facts(),
      host: hostname(),
      pid: process.pid,
      version: PACKAGE_VERSION,
      started: this.#started,
      seen: this.now(),
    };
    const done = await this.redis
      .multi()
      .hset(join, { ...this.#agreement })
      .pexpire(join, JOIN_TIMEOUT)
      .hset(members, this.id, JSON.stringify(own))
      .pexpire(members, JOIN_TIMEOUT)
      .exec();
    const problem = done?.find(([error]) => error !== null)?.[0];
    if (problem) throw problem;
  }

  async #check(known: Readonly<Record<string, string>>): Promise<void> {
    const { wire, version, lock } = this.#agreement;
    const differs = (field: keyof Agreement): boolean =>
      known[field] !== undefined && known[field] !== `${this.#agreement[field]}`;
    if (!(['wire', 'version', 'lock', 'folder'] as const).some(differs)) return;
    // What members agreed on that are gone is of no interest.
    const all = [...(await this.connectedMembers())].filter(([id]) => id !== this.id);
    if (all.length === 0) return;
    const who = all.slice(0, 3).map(([, { kind, host, pid }]) => `${kind} ${pid} on ${host}`);
    const of = who.join(', ') + (all.length > 3 ? ` and ${all.length - 3} more` : '');
    if (differs('wire') || differs('version')) {
      throw new GraphError('graph/remote-version', `The queue is used by another version of the package: ${of}.`, {
        expected: `version ${known.version}, wire form ${known.wire}`,
        got: `version ${version}, wire form ${wire}`,
        remedy: 'Run the same version of the package in all processes, or name another queue.',
      });
    }
    if (differs('folder')) {
      throw new GraphError('graph/remote-folder', `This process sees another folder than the others: ${of}.`, {
        remedy: 'Name the folder that the others use, as it is called here; or name another queue.',
      });
    }
    throw new GraphError('graph/remote-lock', `The queue is used with another time of locks: ${of}.`, {
      expected: `${known.lock} ms`,
      got: `${lock} ms`,
      remedy: 'Give all processes the same time, or name another queue.',
    });
  }
}

/** An id that tells people which process it is. Hosts of containers may share a name. */
function newId(): string {
  return `${hostname().replace(/[^\w.-]/g, '_')}-${process.pid}-${randomBytes(3).toString('hex')}`;
}

/** Reads the members that gave a sign of life lately. */
async function readMembers(redis: Redis, key: string, now: number): Promise<ReadonlyMap<string, Member>> {
  const all = Object.entries(await redis.hgetall(key)).map(([id, text]) => [id, parsed<Member>(text)] as const);
  return new Map(
    all.filter((entry): entry is [string, Member] => entry[1] !== undefined && now - entry[1].seen < MEMBER_TIMEOUT),
  );
}

/** Reads the members that are connected now, too. */
export async function readConnected(redis: Redis, key: string): Promise<ReadonlyMap<string, Member>> {
  const [seconds] = await redis.time();
  const connected = await readConnections(redis);
  return new Map([...(await readMembers(redis, key, Number(seconds) * 1000))].filter(([id]) => connected.has(id)));
}

async function readConnections(redis: Redis): Promise<ReadonlySet<string>> {
  const clients = (await redis.client('LIST')) as string;
  return new Set([...clients.matchAll(/ name=(\S+) /g)].map(([, name]) => name!));
}

/** Reads a record. What another program wrote there is as good as nothing. */
export function parsed<T extends object>(text: string | null): T | undefined {
  try {
    const value: unknown = JSON.parse(text ?? 'null');
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}

/** Waits for a promise, but not for long, and not for its success. */
export async function soon(promise: Promise<unknown>, milliseconds = 1000): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([
    promise.then(
      () => undefined,
      () => undefined,
    ),
    late,
  ]);
  clearTimeout(timer);
}
