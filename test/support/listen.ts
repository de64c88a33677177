// The service on a port.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import type { ServerSettings } from '../../src/http/server.ts';
import { closeAtEnd } from './end.ts';

/** Nothing but what is tested stands in the way. */
export const wideSettings: ServerSettings = {
  maxConnections: 1000,
  maxConnectionsPerNetwork: 500,
  connectionRate: 1000,
  headersTimeoutSeconds: 20,
  requestTimeoutSeconds: 60,
  trustedHops: 0,
};

/** Answers on a port of this machine until the tests of this file are over. */
export async function serveApp(fetch: Parameters<typeof serve>[0]['fetch']): Promise<number> {
  const server = serve({ fetch, hostname: '127.0.0.1', port: 0 });
  if (!server.listening) await once(server, 'listening');
  closeAtEnd(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}
