// Ports for programs that a test starts.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

// Below those that the system gives out by itself (Linux: from 32768): there, whoever else connects or listens may have it before the
// program that it was found for.
const range = { from: 20_000, to: 32_000 };

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = range.from + Math.floor(Math.random() * (range.to - range.from));
    const server = createServer();
    const listens = once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.listen(port, '127.0.0.1');
    if (!(await listens)) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error(`no port from ${range.from} to ${range.to} is free`);
}

/** Has a server listen on this machine; on which port. */
export async function listenAnywhere(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
