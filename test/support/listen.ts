// Settings of a server under test that nothing but what is tested stands in the way of.
import type { ServerSettings } from '../../src/http/server.ts';

export const wideSettings: ServerSettings = {
  maxConnections: 1000,
  maxConnectionsPerNetwork: 500,
  connectionRate: 1000,
  headersTimeoutSeconds: 20,
  requestTimeoutSeconds: 60,
  trustedHops: 0,
};
