/** Quotes the first `shown` names, and adds "and others" if there are more. */
export function listNames(names: readonly string[], shown: number): string {
  return listTexts(names.slice(0, shown + 1).map(quoteName), shown);
}

/** The first `shown` texts, and "and others" if there are more. */
export function listTexts(texts: readonly string[], shown: number): string {
  const listed = texts.slice(0, shown).join(', ');
  return texts.length > shown ? `${listed} and others` : listed;
}

const LONGEST_NAME = 60;

/** Quotes a name from a file for a message. A long name is truncated. */
export function quoteName(name: string): string {
  return JSON.stringify(shortName(name));
}

/** A name or definition for a message, truncated if it is long. */
export function shortName(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

/** Two different names for a message. Long ones that begin alike are told from shortly before they differ. */
export function shortNamesApart(a: string, b: string): [a: string, b: string] {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  if (at < LONGEST_NAME / 2) return [shortName(a), shortName(b)];
  const from = at - LONGEST_NAME / 2;
  return [`…${shortName(a.slice(from))}`, `…${shortName(b.slice(from))}`];
}

/** Text whose control characters, which a terminal would obey, are written as `\u001b`. */
export function escapeControls(text: string): string {
  return text.replace(/\p{Cc}/gu, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const CREDENTIALS = /([a-z][a-z0-9+.-]*:\/{1,3})?[^\s'"/@:]{1,256}:[^\s'"/]{0,256}@(?=\[|localhost|[\w.-]+[.:/])/gi;
const QUERY = /(https?:\/{1,2}[^\s?'"]+)\?[^\s'"]+/gi;

/** Text in which addresses have no name and password, and of their queries, which may be signatures, only a mark. */
export function withoutSecrets(text: string): string {
  return text.replace(CREDENTIALS, '$1…@').replace(QUERY, '$1?…');
}
