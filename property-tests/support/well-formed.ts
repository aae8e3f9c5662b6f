/** Checks that the tags of an XML text are nested and that its text is escaped. Throws at the first fault. */
export function assertWellFormed(xml: string): void {
  const open: string[] = [];
  const token =
    /<(\/?)([A-Za-z][\w:-]*)((?:\s+[\w:-]+="[^"<&]*(?:&(?:#\d+|#x[\da-f]+|\w+);[^"<&]*)*")*)\s*(\/?)>|([^<&]+|&(?:#\d+|#x[\da-f]+|\w+);)/giy;
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex;
    const match = token.exec(xml);
    if (match === null) throw new SyntaxError(`not well-formed at ${at}: ${xml.slice(at, at + 80)}`);
    const [, closing, name, , empty] = match;
    if (name === undefined) continue;
    if (closing === '/' && open.pop() !== name) throw new SyntaxError(`</${name}> at ${at} closes something else`);
    if (closing === '' && empty === '') open.push(name);
  }
  if (open.length > 0) throw new SyntaxError(`${open.join(', ')} stay open`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 forbids exactly these.
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(xml)) throw new SyntaxError('a forbidden character');
}
