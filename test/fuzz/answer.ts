// Reads the bytes of answers as strictly as HTTP/1.1 allows: what a lenient client would forgive is a finding here.

export interface Answer {
  status: number;
  /** Names in lower case, in the order in which they came. */
  headers: [name: string, value: string][];
  body: Buffer;
  /** How the end of the body is told. */
  framing: 'none' | 'length' | 'chunked' | 'close';
}

export interface Reading {
  answers: Answer[];
  /** What is wrong with the framing; null: nothing. */
  problem: string | null;
  /** The last answer isn't there completely. */
  isPartial: boolean;
}

const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');

/** Value of a header, several joined by a comma; null when it is missing. */
export function headerOf(answer: Answer, name: string): string | null {
  const values = answer.headers.flatMap(([header, value]) => (header === name ? [value] : []));
  return values.length > 0 ? values.join(', ') : null;
}

/**
 * @param methods of the requests, in their order; null: unknown, taken for GET
 * @param isClosed whether the service has closed the connection: nothing more will come
 */
export function readAnswers(bytes: Buffer, methods: readonly string[] | null, isClosed: boolean): Reading {
  const answers: Answer[] = [];
  let at = 0;
  const partial = (): Reading => ({ answers, problem: null, isPartial: true });
  const broken = (problem: string): Reading => ({ answers, problem, isPartial: false });
  while (at < bytes.length) {
    const done = answers.filter(({ status }) => status >= 200).length;
    if (methods !== null && done >= methods.length) return broken('bytes behind the last answer');
    const head = bytes.indexOf(headEnd, at);
    if (head < 0) return bytes.length - at > 65_536 ? broken('a head without an end') : partial();
    const [first = '', ...lines] = bytes.toString('latin1', at, head).split('\r\n');
    const [, code] = /^HTTP\/1\.1 (\d{3}) [\t\x20-\x7e\x80-\xff]*$/.exec(first) ?? [];
    if (code === undefined) return broken('no status line');
    const headers: [string, string][] = [];
    for (const line of lines) {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/.exec(line) ?? [];
      if (name === undefined || value === undefined) return broken('a header line that is none');
      headers.push([name.toLowerCase(), value]);
    }
    const answer: Answer = { status: Number(code), headers, body: Buffer.alloc(0), framing: 'none' };
    at = head + headEnd.length;
    const length = headerOf(answer, 'content-length');
    const coding = headerOf(answer, 'transfer-encoding');
    if (length !== null && !/^\d+$/.test(length)) return broken('Content-Length is no single number');
    if (length !== null && coding !== null) return broken('Content-Length and Transfer-Encoding');
    const isBodiless = methods?.[done] === 'HEAD' || answer.status < 200 || [204, 304].includes(answer.status);
    if (isBodiless) {
      // Nothing follows, whatever the headers say about the answer to a GET.
    } else if (coding !== null) {
      if (coding.toLowerCase() !== 'chunked') return broken('a Transfer-Encoding other than chunked');
      const chunks = readChunks(bytes, at);
      if (chunks === 'broken') return broken('broken chunks');
      if (chunks === 'partial') return partial();
      Object.assign(answer, { body: chunks.body, framing: 'chunked' });
      at = chunks.end;
    } else if (length !== null) {
      if (bytes.length - at < Number(length)) return partial();
      Object.assign(answer, { body: bytes.subarray(at, at + Number(length)), framing: 'length' });
      at += Number(length);
    } else {
      if (!isClosed) return partial();
      Object.assign(answer, { body: bytes.subarray(at), framing: 'close' });
      at = bytes.length;
    }
    answers.push(answer);
  }
  return { answers, problem: null, isPartial: false };
}

function readChunks(bytes: Buffer, begin: number): { body: Buffer; end: number } | 'partial' | 'broken' {
  const parts: Buffer[] = [];
  for (let at = begin; ; ) {
    const end = bytes.indexOf(lineEnd, at);
    if (end < 0) return bytes.length - at > 1000 ? 'broken' : 'partial';
    const line = bytes.toString('latin1', at, end);
    if (!/^[0-9a-fA-F]{1,8}$/.test(line)) return 'broken';
    const size = Number.parseInt(line, 16);
    const data = end + 2;
    if (bytes.length < data + size + 2) return 'partial';
    if (bytes[data + size] !== 13 || bytes[data + size + 1] !== 10) return 'broken';
    at = data + size + 2;
    if (size === 0) return { body: Buffer.concat(parts), end: at };
    parts.push(bytes.subarray(data, data + size));
  }
}
