// How often something may be done, counted in this process: by network, or by account.

/** Tokens that come back with time: what is done costs one, and may not be done without. */
export interface Rate {
  /** Takes a token; false when there is none. */
  take(network: string): boolean;
  /** Takes tokens as a penalty, also those that are not there: their network waits the longer, some seconds at most. */
  owe(network: string, tokens: number): void;
  /** Tokens that are there; below 0 what is owed. */
  left(network: string): number;
}

/** So many in a day, counted from the first. */
export interface Quota {
  /** Counts one; returns 0 when it may go on, else the seconds until the day is over. */
  take(who: number): number;
}

const dayMs = 86_400_000;

/** @param limit of each in a day, in this process */
export function limitPerDay(limit: number): Quota {
  const days = new Map<number, { since: number; count: number }>();
  let sweptAt = performance.now();
  return {
    take(who) {
      const now = performance.now();
      if (now - sweptAt > dayMs) {
        for (const [name, { since }] of days) if (now - since > dayMs) days.delete(name);
        sweptAt = now;
      }
      let day = days.get(who);
      if (!day || now - day.since > dayMs) {
        day = { since: now, count: 0 };
        days.set(who, day);
      }
      if (day.count >= limit) return Math.max(1, Math.ceil((day.since + dayMs - now) / 1000));
      day.count++;
      return 0;
    },
  };
}

const maxDebtSeconds = 5;

/**
 * @param perSecond tokens that come back
 * @param full tokens that are there at first, and never more
 */
export function limitRate(perSecond: number, full = 2 * perSecond): Rate {
  const buckets = new Map<string, { tokens: number; at: number }>();
  let sweptAt = performance.now();
  const bucketOf = (network: string) => {
    const now = performance.now();
    // Networks that were quiet for long enough are as good as new ones.
    const longEnough = 1000 * (full / perSecond + maxDebtSeconds);
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
    left: (network) => bucketOf(network).tokens,
  };
}
