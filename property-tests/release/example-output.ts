/** The expected output of a program in examples/: the comment at its end. */
export function promisedBy(source: string): string {
  const [comment = ''] = /(?:^\/\/ .*\n)+$/m.exec(source.slice(source.lastIndexOf('\n\n'))) ?? [];
  return comment.replaceAll(/^\/\/ /gm, '');
}
