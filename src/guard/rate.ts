// How often something may be done, counted in this process: by network, or by account.

/** Tokens that come back with time: what is done costs one, and may not be done without. */
export interface Rate {
  /** Takes a token; false when there is none. */
  take(network: string): boolean;
}

/** So many in a day. */
export interface Quota {
  /** Counts one; returns 0 when it may go on, else the seconds until the day is over. */
  take(who: number): number;
}

const dayMs = 86_400_000;

/** @param limit of each in a day, in this process */
export function limitPerDay(limit: number): Quota {
  const counts = new Map<number, number>();
  let begun = performance.now();
  return {
    take(who) {
      const now = performance.now();
      if (now - begun > dayMs) {
        counts.clear();
        begun = now;
      }
      const count = counts.get(who) ?? 0;
      if (count >= limit) return Math.ceil((begun + dayMs - now) / 1000) || 1;
      counts.set(who, count + 1);
      return 0;
    },
  };
}

/**
 * @param perSecond tokens that come back
 * @param full tokens that are there at first, and never more
 */
export function limitRate(perSecond: number, full = 2 * perSecond): Rate {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const fullMs = (1000 * full) / perSecond;
  let sweptAt = performance.now();
  return {
    take(network) {
      const now = performance.now();
      // Networks that were quiet until their bucket was full are as good as new ones.
      if (now - sweptAt > fullMs) {
        for (const [name, { at }] of buckets) if (now - at > fullMs) buckets.delete(name);
        sweptAt = now;
      }
      const { tokens, at } = buckets.get(network) ?? { tokens: full, at: now };
      const left = Math.min(full, tokens + ((now - at) / 1000) * perSecond);
      buckets.set(network, { tokens: left < 1 ? left : left - 1, at: now });
      return left >= 1;
    },
  };
}
