// What the benchmark uses of autocannon, which comes without types.
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  interface Request {
    method: string;
    path: string;
    headers: Record<string, string>;
    body?: string;
    setupRequest?: (request: Request) => Request;
  }
  interface Client {
    setRequests(requests: Request[]): void;
  }
  interface Options {
    url: string;
    connections: number;
    duration?: number;
    amount?: number;
    requests: Request[];
    setupClient?: (client: Client) => void;
  }
  interface Result {
    errors: number;
    timeouts: number;
    non2xx: number;
    duration: number;
    statusCodeStats: Record<string, { count: number }>;
  }
  type Instance = EventEmitter & PromiseLike<Result>;

  export type { Options, Request };
  export default function autocannon(options: Options): Instance;
}
