// The service on a port.
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { loadConfig } from '../../src/config.ts';
import { listen, type ServerSettings } from '../../src/http/server.ts';
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

/** The same with all that the service does on a connection, and with the limits that an operator gets who sets none. */
export async function listenAsService(fetch: Parameters<typeof listen>[0], settings = loadConfig({})): Promise<number> {
  const server = (await listen(fetch, '127.0.0.1', 0, settings)) as Server;
  closeAtEnd(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}
