// Figures for operators: how many requests, how long they took, how the process is.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** A figure with labels of a bounded set: nothing that a client chose. */
export interface Figure {
  labels: Record<string, string>;
  value: number;
}

/** Figures that are asked for when metrics are read. */
export interface Watched {
  name: string;
  help: string;
  /** A number that only grows is a counter. */
  type?: 'gauge' | 'counter';
  labels?: readonly string[];
  /** None at all, or NaN without labels, for what is not known at present. */
  read: () => number | Figure[] | Promise<number | Figure[]>;
}

/** What a process counts. Labels are routes, methods and statuses only: nothing that a client chose. */
export interface Metrics {
  contentType: string;
  /** The text that Prometheus reads. */
  collect(): Promise<string>;
  /** Counts a request. `seconds` until its answer was ready. */
  countRequest(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** Counts an answer that could be kept: sent from memory, or made. */
  countAnswer(isKept: boolean): void;
  watch(watched: Watched): void;
}

/** Registers nothing globally, so that several services in one process don't mix. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const labelNames = ['method', 'route', 'status'] as const;
  const requests = new Counter({ name: 'http_requests_total', help: 'Requests answered', labelNames, registers });
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time until the answer was ready',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const kept = {
    hits: new Counter({ name: 'kept_answers_hits_total', help: 'Answers that were sent from memory', registers }),
    misses: new Counter({ name: 'kept_answers_misses_total', help: 'Answers that may be kept and had to be made', registers }),
  };
  return {
    contentType: registry.contentType,
    collect: () => registry.metrics(),
    countRequest({ method, route, status }, seconds) {
      requests.inc({ method, route, status });
      duration.observe({ method, route }, seconds);
    },
    countAnswer(isKept) {
      (isKept ? kept.hits : kept.misses).inc();
    },
    watch({ name, help, type = 'gauge', labels = [], read }) {
      const configuration = {
        name,
        help,
        labelNames: labels,
        registers,
        async collect(this: Gauge | Counter) {
          const figures = await read();
          this.reset();
          for (const { labels: of, value } of typeof figures === 'number' ? [{ labels: {}, value: figures }] : figures)
            this.inc(of, value);
        },
      };
      if (type === 'counter') new Counter(configuration);
      else new Gauge(configuration);
    },
  };
}

/** How long figures are good that cost a look at the database, and how long whoever reads metrics waits for them. */
export const figuresMs = { fresh: 5000, wait: 2000 };

/**
 * Asks once for all that read metrics within some seconds, however many they are.
 * @param read may hang: it is waited for a moment only, and not asked again before it is back
 * @returns null for what did not come in time, or failed
 */
export function keepFresh<T>(read: () => Promise<T>, { fresh, wait } = figuresMs): () => Promise<T | null> {
  let last: { value: T | null; at: number } | null = null;
  let reading: { value: Promise<T | null>; since: number } | null = null;
  const ask = async () => {
    const value = await read().catch(() => null);
    last = { value, at: performance.now() };
    reading = null;
    return value;
  };
  return async () => {
    const now = performance.now();
    if (last && now - last.at < fresh) return last.value;
    reading ??= { value: ask(), since: now };
    const left = wait - (now - reading.since);
    if (left <= 0) return null;
    const { promise: late, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(resolve, left, null);
    return Promise.race([reading.value, late]).finally(() => clearTimeout(timer));
  };
}
