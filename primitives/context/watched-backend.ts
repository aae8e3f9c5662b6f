import type { Backend, DeviceBuffer } from '../contract/backend.ts';
import { buffersOf } from '../contract/visit-command.ts';
import { issue } from '../derived/issue.ts';

type Buffers = readonly DeviceBuffer[];

/** An observer that is informed which buffers every command reads and writes. */
export interface Watch {
  /**
   * Whether nothing needs to be observed at the moment. While `idle` is true, commands are not reported, which saves
   * the time to list their buffers.
   */
  readonly idle: boolean;
  /** Called before a command or a transfer writes buffers. */
  beforeWrite(writes: Buffers): void;
  /** Called after a command is issued. */
  afterCommand(reads: Buffers, writes: Buffers): void;
}

/**
 * Wraps a backend so that all its commands are reported to a watch. Its `run` always returns true: it derives the
 * commands that the backend has no kernel for. Members that are not commands work as before.
 */
export function watchedBackend<B extends Backend>(backend: B, watch: Watch): B {
  const commands: Pick<Backend, 'run' | 'write'> = {
    run(command) {
      if (watch.idle) {
        issue(backend, command);
        return true;
      }
      // `relax` also reads what it writes. It writes these buffers in place, so they keep the capacity checks on which
      // their contents depend.
      const { reads, writes } = buffersOf(command);
      watch.beforeWrite(writes);
      issue(backend, command);
      watch.afterCommand(reads, writes);
      return true;
    },
    write(buffer, word, data) {
      if (!watch.idle) watch.beforeWrite([buffer]);
      backend.write(buffer, word, data);
    },
  };
  return Object.defineProperties({} as B, { ...membersOf(backend), ...Object.getOwnPropertyDescriptors(commands) });
}

/**
 * Property descriptors that forward to all members of an object, including the members of its class. Each access
 * reads the current value.
 */
function membersOf(object: object): PropertyDescriptorMap {
  const members: PropertyDescriptorMap = {};
  for (let level = object; level !== Object.prototype && level !== null; level = Object.getPrototypeOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      members[name] ??= {
        ...memberOf(object, name, typeof value === 'function'),
        enumerable: true,
        configurable: true,
      };
    }
  }
  return members;
}

function memberOf(object: object, name: string, isMethod: boolean): PropertyDescriptor {
  const target = object as Record<string, unknown>;
  if (!isMethod) return { get: () => target[name] };
  return {
    value: (...args: unknown[]) => (target as Record<string, (...args: unknown[]) => unknown>)[name]!(...args),
    writable: true,
  };
}
