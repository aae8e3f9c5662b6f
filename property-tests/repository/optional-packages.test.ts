import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { installRemedy, isMissing, type OptionalPackage } from '../../primitives/host/optional-packages.ts';

const { peerDependencies, peerDependenciesMeta, devDependencies } = manifest;
/** fast-check is left out. Only the property tests import it, and users of the property tests have it. */
const optional = Object.keys(peerDependencies).filter((name) => name !== 'fast-check') as OptionalPackage[];

test('the README states how many packages are installed with the library', () => {
  const read = (name: string): string => readFileSync(join(import.meta.dirname, '..', '..', name), 'utf8');
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { dev?: boolean }> };
  // The count includes the library itself, which the lock file lists with the name ''.
  const installed = Object.values(packages).filter(({ dev }) => dev !== true).length;
  expect(read('README.md')).toContain(`installs ${installed} packages`);
});

describe('optional packages', () => {
  test('are peers that npm does not install by default', () => {
    expect(Object.keys(peerDependenciesMeta)).toEqual(Object.keys(peerDependencies));
    expect(Object.values(peerDependenciesMeta).every(({ optional }) => optional)).toBe(true);
  });

  test.each(optional)('%s is installed by the command in errors, in the version that the tests use', (name) => {
    expect(installRemedy([name])).toMatch(new RegExp(`npm install ${name}@${devDependencies[name]}$`));
    expect(`^${devDependencies[name]}`).toContain(peerDependencies[name]);
  });

  test('are distinguished from missing dependencies of their own', async () => {
    const missing = await import('not-installed' as string).catch((error: unknown) => error);
    const own = new Error('broken');
    expect(isMissing(optional, missing)).toBe(false);
    expect(isMissing(['not-installed' as OptionalPackage], missing)).toBe(true);
    expect(isMissing(optional, own)).toBe(false);
  });
});
