import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** README and the pages of the guide, by their paths in the repository. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs', 'guide')).map((name) => join('docs', 'guide', name)),
];

/** The contents of all fenced blocks on a page that are in the given language. */
export function blocks(page: string, language: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, body]) => body!);
}

export function pagesWith(language: string): string[] {
  return pages.filter((page) => blocks(page, language).length > 0);
}

/** The program that the code blocks of a page form. */
export function codeOf(page: string): string {
  return blocks(page, 'ts').join('');
}
