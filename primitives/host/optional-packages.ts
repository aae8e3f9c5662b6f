/**
 * The versions of the optional packages that the tests use. Only parts of the library need these packages (optional
 * peers in package.json).
 */
const VERSIONS = {
  '@observablehq/plot': '0.6.17',
  '@sparticuz/chromium': '143.0.4',
  bullmq: '6.7.0',
  'epsg-index': '2.0.0',
  ioredis: '6.0.0',
  linkedom: '0.18.12',
  proj4: '2.22.0',
  tsx: '4.23.15',
  webgpu: '0.6.2',
} as const;

export type OptionalPackage = keyof typeof VERSIONS;

/** The remedy for an error about missing packages: the command that installs them. */
export function installRemedy(names: readonly OptionalPackage[]): string {
  return `Install the missing packages: ${installCommand(names)}`;
}

/** The command that installs packages in the versions that the tests use. */
export function installCommand(names: readonly OptionalPackage[]): string {
  return `npm install ${names.map((name) => `${name}@${VERSIONS[name]}`).join(' ')}`;
}

/**
 * Whether an import failed because one of the named packages is not installed. False if the import failed for another
 * reason, for example because an installed package failed to load.
 */
export function isMissing(names: readonly OptionalPackage[], error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return code === 'ERR_MODULE_NOT_FOUND' && names.some((name) => String(message).includes(`'${name}'`));
}
