// Figures for operators: how many requests, how long they took, how the process is.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What a process counts. Labels are routes, methods and statuses only: nothing that a client chose. */
export interface Metrics {
  contentType: string;
  /** The text that Prometheus reads. */
  collect(): Promise<string>;
  /** Counts a request. `seconds` until its answer was ready. */
  countRequest(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** Shows a figure that is asked for when metrics are read. */
  watch(name: string, help: string, read: () => number | Promise<number>): void;
}

/** Registers nothing globally, so that several services in one process don't mix. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const labelNames = ['method', 'route', 'status'] as const;
  const requests = new Counter({ name: 'http_requests_total', help: 'Requests answered', labelNames, registers: [registry] });
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time until the answer was ready',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    contentType: registry.contentType,
    collect: () => registry.metrics(),
    countRequest({ method, route, status }, seconds) {
      requests.inc({ method, route, status });
      duration.observe({ method, route }, seconds);
    },
    watch(name, help, read) {
      new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          this.set(await read());
        },
      });
    },
  };
}
