/** What a program of examples/ prints: the comment that it ends in. */
export function promisedBy(source: string): string {
  const [comment = ''] = /(?:^\/\/ .*\n)+$/m.exec(source.slice(source.lastIndexOf('\n\n'))) ?? [];
  return comment.replaceAll(/^\/\/ /gm, '');
}
