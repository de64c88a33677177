// How often something may be done, counted by network.

/** Tokens that come back with time: what is done costs one, and may not be done without. */
export interface Rate {
  /** Takes a token; false when there is none. */
  take(network: string): boolean;
  /** Takes tokens as a penalty, also those that are not there: their network waits the longer, some seconds at most. */
  owe(network: string, tokens: number): void;
}

const maxDebtSeconds = 5;

/** @param perSecond tokens that come back; twice as many are there at first */
export function limitRate(perSecond: number): Rate {
  const full = 2 * perSecond;
  const buckets = new Map<string, { tokens: number; at: number }>();
  let sweptAt = performance.now();
  const bucketOf = (network: string) => {
    const now = performance.now();
    // Networks that were quiet for long enough are as good as new ones.
    const longEnough = 1000 * (2 + maxDebtSeconds);
    if (now - sweptAt > longEnough) {
      for (const [name, { at }] of buckets) if (now - at > longEnough) buckets.delete(name);
      sweptAt = now;
    }
    const bucket = buckets.get(network) ?? { tokens: full, at: now };
    buckets.set(network, bucket);
    bucket.tokens = Math.min(full, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    return bucket;
  };
  return {
    take(network) {
      const bucket = bucketOf(network);
      if (bucket.tokens < 1) return false;
      bucket.tokens -= 1;
      return true;
    },
    owe(network, tokens) {
      const bucket = bucketOf(network);
      bucket.tokens = Math.max(bucket.tokens - tokens, -maxDebtSeconds * perSecond);
    },
  };
}
