// How often something may be done, counted by network.

/** Tokens that come back with time: what is done costs some, and may not be done without. */
export interface Rate {
  /** Takes tokens; false when there are not enough, and then they are owed: who goes on waits the longer, some seconds at most. */
  take(network: string, tokens?: number): boolean;
}

const maxDebtSeconds = 5;

/** @param perSecond tokens that come back; twice as many are there at first */
export function limitRate(perSecond: number): Rate {
  const full = 2 * perSecond;
  const buckets = new Map<string, { tokens: number; at: number }>();
  let sweptAt = performance.now();
  const refill = (bucket: { tokens: number; at: number }, now: number) => {
    bucket.tokens = Math.min(full, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
  };
  return {
    take(network, tokens = 1) {
      const now = performance.now();
      // Networks that were quiet for long enough are as good as new ones.
      if (now - sweptAt > 2000) {
        const longEnough = 1000 * (2 + maxDebtSeconds);
        for (const [name, bucket] of buckets) if (now - bucket.at > longEnough) buckets.delete(name);
        sweptAt = now;
      }
      const bucket = buckets.get(network) ?? { tokens: full, at: now };
      buckets.set(network, bucket);
      refill(bucket, now);
      const isEnough = bucket.tokens >= tokens;
      bucket.tokens = Math.max(bucket.tokens - tokens, -maxDebtSeconds * perSecond);
      return isEnough;
    },
  };
}
