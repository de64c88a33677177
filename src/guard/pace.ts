// A lowest rate for what comes in: a body that comes a byte at a time holds a place that others need.

/** Something is received; it must end what it began by `stop`. */
export interface Pace {
  /** Counts bytes that came. */
  count(bytes: number): void;
  stop(): void;
}

// A pause of a mobile network is no attack.
export const graceMs = 10_000;

/**
 * Watches how fast something comes.
 * @param minRate bytes a second, counted from the end of the grace
 * @param onSlow called once, when less came
 */
export function watchPace(minRate: number, onSlow: () => void): Pace {
  const begin = performance.now();
  let bytes = 0;
  const timer = setInterval(() => {
    const seconds = (performance.now() - begin - graceMs) / 1000;
    if (seconds <= 0 || bytes >= minRate * seconds) return;
    clearInterval(timer);
    onSlow();
  }, 500);
  timer.unref();
  return {
    count: (more) => {
      bytes += more;
    },
    stop: () => clearInterval(timer),
  };
}
