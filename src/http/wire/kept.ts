// Answers that were made already, kept in memory.

/** What is known of an address: the ETag of its last answer, and that answer where it is kept. */
export interface Kept {
  tag: string;
  answer?: { body: Buffer<ArrayBuffer>; type: string };
}

export interface KeptAnswers {
  get(address: string): Kept | undefined;
  set(address: string, kept: Kept): void;
}

// Of the most that may be kept: one answer must not push all others out.
const largestShare = 1 / 8;
// What an entry takes beside its body and its address.
const entryBytes = 200;

/**
 * Keeps what was asked for last.
 * @param maxBytes that all of it may take together
 */
export function keepAnswers(maxBytes: number): KeptAnswers {
  // In the order of their last use.
  const answers = new Map<string, Kept>();
  let bytes = 0;
  const sizeOf = (address: string, { answer }: Kept) => (answer?.body.length ?? 0) + 2 * address.length + entryBytes;
  const remove = (address: string) => {
    const kept = answers.get(address);
    if (kept && answers.delete(address)) bytes -= sizeOf(address, kept);
  };
  return {
    get(address) {
      const kept = answers.get(address);
      if (kept && answers.delete(address)) answers.set(address, kept);
      return kept;
    },
    set(address, kept) {
      remove(address);
      if (sizeOf(address, kept) > maxBytes * largestShare) return;
      const { tag, answer } = kept;
      answers.set(address, answer ? { tag, answer: { ...answer, body: toOwn(answer.body) } } : { tag });
      bytes += sizeOf(address, kept);
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
