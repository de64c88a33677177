// Answers that were made already, in memory.

/** What is known of an address: the ETag of its last answer, and that answer where it is cached. */
export interface CachedAnswer {
  tag: string;
  /** Of what it shows a part of: which, and the version of everything at which the tag was last found to hold. */
  teil?: { bloecke: string; stand: string };
  answer?: { body: Buffer<ArrayBuffer>; type: string };
}

export type AnswerCache = ReturnType<typeof createAnswerCache>;

// Of the most that may be cached: one answer must not push all others out.
const largestShare = 1 / 8;
// What an entry takes beside its body and its address.
const entryBytes = 200;

/**
 * Keeps what was asked for last.
 * @param maxBytes that all of it may take together
 */
export function createAnswerCache(maxBytes: number) {
  // In the order of their last use.
  const answers = new Map<string, CachedAnswer>();
  let bytes = 0;
  const sizeOf = (address: string, { answer }: CachedAnswer) => (answer?.body.length ?? 0) + 2 * address.length + entryBytes;
  const remove = (address: string) => {
    const cached = answers.get(address);
    if (cached && answers.delete(address)) bytes -= sizeOf(address, cached);
  };
  return {
    get(address: string): CachedAnswer | undefined {
      const cached = answers.get(address);
      if (cached && answers.delete(address)) answers.set(address, cached);
      return cached;
    },
    set(address: string, cached: CachedAnswer): void {
      remove(address);
      if (sizeOf(address, cached) > maxBytes * largestShare) return;
      const { answer } = cached;
      answers.set(address, answer ? { ...cached, answer: { ...answer, body: toOwn(answer.body) } } : cached);
      bytes += sizeOf(address, cached);
      for (const oldest of answers.keys()) {
        if (bytes <= maxBytes) return;
        remove(oldest);
      }
    },
  };
}

// Node cuts small buffers from a shared one, and each would keep 64 kB of it.
function toOwn(bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
