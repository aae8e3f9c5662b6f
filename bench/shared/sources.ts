import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** How C++ programs are compiled. */
export const CPP_FLAGS: readonly string[] = ['-O3', '-march=native', '-std=c++20', '-pthread'];

/**
 * The path of a source file in another language, in a folder of `bench`. The file is there, or in the package's `bench`
 * if this module runs compiled from `dist/`.
 */
export function sourcePath(folder: string, file: string): string {
  const near = fileURLToPath(new URL(`../${folder}/${file}`, import.meta.url));
  return existsSync(near) ? near : fileURLToPath(new URL(`../../../bench/${folder}/${file}`, import.meta.url));
}
