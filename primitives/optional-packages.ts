/** Packages that only parts of the library need, with the versions that its tests use: optional peers in package.json. */
const VERSIONS = {
  '@observablehq/plot': '0.6.17',
  '@sparticuz/chromium': '143.0.4',
  linkedom: '0.18.12',
  tsx: '4.23.15',
  webgpu: '0.6.2',
} as const;

export type OptionalPackage = keyof typeof VERSIONS;

/** What installs packages, as a sentence for an error's remedy. */
export function installRemedy(names: readonly OptionalPackage[]): string {
  return `Install what is missing: ${installCommand(names)}`;
}

/** The command that installs packages. */
export function installCommand(names: readonly OptionalPackage[]): string {
  return `npm install ${names.map((name) => `${name}@${VERSIONS[name]}`).join(' ')}`;
}

/** Whether an import failed because one of these packages is not installed, and not because of what it does. */
export function isMissing(names: readonly OptionalPackage[], error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return code === 'ERR_MODULE_NOT_FOUND' && names.some((name) => String(message).includes(`'${name}'`));
}
