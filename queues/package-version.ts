import { readFileSync } from 'node:fs';

/** The version of this package. */
export const PACKAGE_VERSION: string = versionAbove(new URL('.', import.meta.url));

/** Reads the version from the `package.json` of this package. Sources, modules and bundles lie at various depths. */
function versionAbove(folder: URL): string {
  const up = new URL('..', folder);
  if (up.href === folder.href) return 'unknown';
  try {
    const { name, version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
    if (name === 'quadrille') return version;
  } catch {
    // This folder has none.
  }
  return versionAbove(up);
}
