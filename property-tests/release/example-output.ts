/** The output that a program in examples/ must print: the comment at its end states it. */
export function promisedBy(source: string): string {
  const [comment = ''] = /(?:^\/\/ .*\n)+$/m.exec(source.slice(source.lastIndexOf('\n\n'))) ?? [];
  return comment.replaceAll(/^\/\/ /gm, '');
}
