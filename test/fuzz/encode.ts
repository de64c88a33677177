// Parts of requests as bytes. Nothing is checked or mended on the way: what is wrong in the parts is wrong in the bytes.

/** Bytes as they are, or text for UTF-8. */
export type Content = string | Buffer;

export function credentialsOf(account: { loginname: string; token: string } | null): (readonly [string, string])[] {
  return account
    ? [
        ['X-Auth-User', account.loginname],
        ['X-Auth-Token', account.token],
      ]
    : [];
}

export interface FormPart {
  name: Content;
  content: Content;
  /** Makes it a file. */
  filename?: string;
  /** Further lines of its head. */
  head?: Content;
}

export function encodeMultipart(parts: readonly FormPart[], boundary: string, end = `--${boundary}--\r\n`): Buffer {
  return join([
    ...parts.flatMap(({ name, content, filename, head }) => [
      `--${boundary}\r\nContent-Disposition: form-data; name="`,
      name,
      '"',
      filename !== undefined || typeof content !== 'string' ? `; filename="${filename ?? 'datei.bin'}"` : '',
      '\r\n',
      typeof content === 'string' ? '' : 'Content-Type: application/octet-stream\r\n',
      head ?? '',
      '\r\n',
      content,
      '\r\n',
    ]),
    end,
  ]);
}

export function encodeForm(form: Record<string, string>): Buffer {
  const pairs = Object.entries(form).map(([name, value]) => `${name}=${escapeText(value)}`);
  return Buffer.from(pairs.join('&'));
}

/** All bytes but letters and digits escaped; half a surrogate pair as the three bytes that it would have. */
export function escapeText(text: string): string {
  return text.replace(/[^A-Za-z0-9.,_~*'()!-]+/gu, (letters) => Array.from(letters, escapeLetter).join(''));
}

function escapeLetter(letter: string): string {
  const code = letter.charCodeAt(0);
  const bytes = letter.isWellFormed()
    ? Buffer.from(letter)
    : Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]);
  return bytes.toString('hex').toUpperCase().replaceAll(/../g, '%$&');
}

function join(parts: readonly Content[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}
