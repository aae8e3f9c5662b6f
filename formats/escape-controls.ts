/** Text whose control characters, which a terminal would obey, are written as `\u001b`. */
export function escapeControls(text: string): string {
  return text.replace(/\p{Cc}/gu, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
