declare const process: { readonly env: { readonly NODE_ENV?: string | undefined } };

/**
 * Whether the program is being developed: whether `NODE_ENV` is neither `production` nor `test`. Bundlers replace the
 * expression by the mode that they build for. A page without a bundler has no `process`, and counts as production.
 */
export function isDevelopment(): boolean {
  try {
    return process.env.NODE_ENV !== 'production' && process.env.NODE_ENV !== 'test';
  } catch {
    return false;
  }
}
