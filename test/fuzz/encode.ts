// Requests as bytes. Nothing is checked or mended on the way: what is wrong in the parts is wrong in the bytes.

/** Bytes as they are, or text for UTF-8. */
export type Content = string | Buffer;

export interface RequestParts {
  method: string;
  target: string;
  version?: string;
  headers: readonly (readonly [name: string, value: Content])[];
  body?: Buffer;
  /** Sizes of the chunks of the body; without it the length is told. */
  chunks?: readonly number[];
}

export function encodeRequest({ method, target, version = '1.1', headers, body, chunks }: RequestParts): Buffer {
  const parts: Content[] = [`${method} ${target} HTTP/${version}\r\n`];
  for (const [name, value] of headers) parts.push(`${name}: `, value, '\r\n');
  if (body && chunks) parts.push('Transfer-Encoding: chunked\r\n\r\n', encodeChunks(body, chunks));
  else if (body) parts.push(`Content-Length: ${body.length}\r\n\r\n`, body);
  else parts.push('\r\n');
  return join(parts);
}

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

/** All bytes but letters and digits escaped; half a surrogate pair as the three bytes that it would have. */
export function escapeText(text: string): string {
  return text.replace(/[^A-Za-z0-9.,_~*'()!-]+/gu, (letters) =>
    letters.isWellFormed() ? escapeBytes(Buffer.from(letters)) : Array.from(letters, escapeLetter).join(''),
  );
}

function escapeLetter(letter: string): string {
  if (letter.isWellFormed()) return escapeBytes(Buffer.from(letter));
  const code = letter.charCodeAt(0);
  return escapeBytes(Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]));
}

function escapeBytes(bytes: Buffer): string {
  return bytes.toString('hex').toUpperCase().replaceAll(/../g, '%$&');
}

function encodeChunks(body: Buffer, sizes: readonly number[]): Buffer {
  const parts: Content[] = [];
  for (let at = 0, index = 0; at < body.length; index++) {
    const size = Math.min(sizes[index % sizes.length] ?? body.length, body.length - at);
    parts.push(`${size.toString(16)}\r\n`, body.subarray(at, at + size), '\r\n');
    at += size;
  }
  return join([...parts, '0\r\n\r\n']);
}

function join(parts: readonly Content[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}
