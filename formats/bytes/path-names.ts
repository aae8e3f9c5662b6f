/** The name of a file in its folder. */
function nameOfPath(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

/** The extension of a file's name with its point, as `extname` of Node; empty if it has none. */
export function endingOf(path: string): string {
  const name = nameOfPath(path);
  const at = name.lastIndexOf('.');
  return at > 0 ? name.slice(at) : '';
}
