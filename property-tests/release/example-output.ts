/**
 * Returns the output that a program in examples/ must print, which is stated in the comment at the end of the program.
 */
export function promisedBy(source: string): string {
  const [comment = ''] = /(?:^\/\/ .*\n)+$/m.exec(source.slice(source.lastIndexOf('\n\n'))) ?? [];
  return comment.replaceAll(/^\/\/ /gm, '');
}
