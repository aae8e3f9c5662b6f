const MAX_TITLE = 80;

/**
 * Describes a web page by its first bytes, with its title if that is among them. Undefined for other bytes: no file that is read
 * from addresses begins with markup. A title that may repeat an address, with what is secret in it, is not told.
 */
export function pageAmong(first: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(first.subarray(0, 2 ** 14));
  if (!/^\s*(<!--((?!-->)[\s\S])*-->\s*)*<(!doctype\s+html|html|head|body)\b/i.test(text)) return undefined;
  const [, title = ''] = /<title\b[^>]*>([^<]*)</i.exec(text) ?? [];
  const words = title.replaceAll(/[\s\p{C}]+/gu, ' ').trim();
  if (words === '' || /[?=@]/.test(words)) return 'a page of HTML';
  return `a page of HTML, \u201c${words.length > MAX_TITLE ? `${words.slice(0, MAX_TITLE)}\u2026` : words}\u201d`;
}
