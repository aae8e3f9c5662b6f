const text = Buffer.allocUnsafeSlow(36);

/**
 * Writes the UUID in the 16 bytes from `at` on as text, in lower case with hyphens. The result is valid until the next
 * call.
 */
export function uuidText(bytes: Buffer, at: number): Buffer {
  const digits = bytes.toString('hex', at, at + 16);
  text.write(
    `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`,
    'latin1',
  );
  return text;
}
