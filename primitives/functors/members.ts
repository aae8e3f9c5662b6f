import { shortened } from '../given.ts';
import { functorError } from './recorder.ts';

/** Members that runtimes and test frameworks look for on any object; that they are missing says something to those. */
const askedOfAll: ReadonlySet<PropertyKey> = new Set([
  'then',
  'toJSON',
  'asymmetricMatch',
  'nodeType',
  'tagName',
  'inspect',
]);

/** What the author of a functor can have meant; other keys belong to runtimes. */
const member = /^[a-zA-Z][a-zA-Z0-9]*$|^[0-9]+$/;

interface Class<T> {
  readonly prototype: T;
}

/**
 * Makes every member that instances of a class do not have an error that names it and those that there are, as `x.sin` of
 * a value: JavaScript would say that it is no function, or go on with `undefined`. Members that exist are found before it.
 */
export function refuseOtherMembers<T extends object>({ prototype }: Class<T>, describe: (instance: T) => string): void {
  const refuse = (instance: T, key: string): never => {
    throw functorError(
      'member',
      `There is no ${shortened(key)} of ${describe(instance)}.`,
      `There are ${membersOf(Object.getPrototypeOf(instance)).join(', ')}.`,
    );
  };
  const get = (target: object, key: string | symbol, instance: T): unknown => {
    if (typeof key === 'symbol' || key in target || askedOfAll.has(key) || !member.test(key)) {
      return Reflect.get(target, key, instance);
    }
    // The prototypes themselves are looked into too, by debuggers and whoever lists members.
    return Object.hasOwn(instance, 'constructor') ? undefined : refuse(instance, key);
  };
  Object.setPrototypeOf(prototype, new Proxy(Object.prototype, { get }));
}

function membersOf(prototype: object | null): string[] {
  if (prototype === null || prototype === Object.prototype) return [];
  const own = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  const inherited = Object.hasOwn(prototype, 'constructor') ? membersOf(Object.getPrototypeOf(prototype)) : [];
  return [...new Set([...own, ...inherited])];
}
