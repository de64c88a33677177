// The few pieces of PostgreSQL's wire protocol (version 3) that the bridge reads or writes itself.
// Everything else passes through unread: rows are never decoded here.

/** First byte of the messages that the bridge looks at. */
export const frontend = {
  close: 0x43, // C
  flush: 0x48, // H
  parse: 0x50, // P
  query: 0x51, // Q
  sync: 0x53, // S
  terminate: 0x58, // X
} as const;

/** First byte of the answers that the bridge looks at. */
export const backend = {
  commandComplete: 0x43, // C
  dataRow: 0x44, // D
  error: 0x45, // E
  readyForQuery: 0x5a, // Z
} as const;

export const idle = 0x49; // I

/** Builds one message: type byte, length, body. */
export function buildMessage(type: number, ...parts: (string | Uint8Array)[]): Buffer {
  const body = parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part));
  const size = body.reduce((sum, part) => sum + part.length, 4);
  const header = Buffer.alloc(5);
  header[0] = type;
  header.writeInt32BE(size, 1);
  return Buffer.concat([header, ...body]);
}

/** A simple query. */
export function buildQuery(sql: string): Buffer {
  return buildMessage(frontend.query, sql);
}

/** An ErrorResponse, as the server would send it. */
export function buildError(code: string, message: string, hint?: string): Buffer {
  const fields = ['SERROR', 'VERROR', `C${code}`, `M${message}`, ...(hint ? [`H${hint}`] : [])];
  return buildMessage(backend.error, ...fields, Buffer.from([0]));
}

/** ReadyForQuery with the given transaction status. */
export function buildReady(status: number): Buffer {
  return buildMessage(backend.readyForQuery, Buffer.from([status]));
}

/** Position after the string that begins at `start`. */
export function endOfString(bytes: Buffer, start: number): number {
  const end = bytes.indexOf(0, start);
  if (end === -1) throw new Error('unterminated string in a message');
  return end + 1;
}

/** The string that begins at `start`, without its terminator. */
export function readString(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, endOfString(bytes, start) - 1);
}

/** The columns of one DataRow in text format. */
export function readRow(message: Buffer): (string | null)[] {
  const row: (string | null)[] = [];
  let at = 7;
  for (let left = message.readInt16BE(5); left > 0; left--) {
    const length = message.readInt32BE(at);
    at += 4;
    row.push(length === -1 ? null : message.toString('utf8', at, at + Math.max(length, 0)));
    at += Math.max(length, 0);
  }
  return row;
}

/** SQLSTATE and message of an ErrorResponse. */
export function readError(message: Buffer): { code: string; message: string } {
  const found = { code: 'XX000', message: 'unknown error' };
  for (let at = 5; message[at]; at = endOfString(message, at)) {
    if (message[at] === 0x43) found.code = readString(message, at + 1);
    if (message[at] === 0x4d) found.message = readString(message, at + 1);
  }
  return found;
}

/** Cuts a byte stream into whole messages; what is incomplete waits for the next chunk. */
export class MessageReader {
  #chunks: Buffer[] = [];
  #size = 0;
  #needed = 5;

  /** Takes a chunk and returns the messages (type byte included) that it completes. */
  read(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    // joining only when a message is whole keeps a 50 MB message from being copied once per chunk
    if (this.#size < this.#needed) return [];
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#size);
    const messages: Buffer[] = [];
    this.#needed = 5;
    while (bytes.length >= 5) {
      const end = 1 + bytes.readInt32BE(1);
      if (end < 5) throw new Error('message with an impossible length');
      if (bytes.length < end) {
        this.#needed = end;
        break;
      }
      messages.push(bytes.subarray(0, end));
      bytes = bytes.subarray(end);
    }
    this.#chunks = bytes.length > 0 ? [bytes] : [];
    this.#size = bytes.length;
    return messages;
  }
}
