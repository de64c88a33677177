// A service with requests that fail where nobody waits for them: run as a process of its own by test/safety/defects.test.ts.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { currentScope } from '../../src/guard/request.ts';
import { type Env, scopeMiddleware } from '../../src/http/context.ts';
import { PortalError } from '../../src/http/wire/portal-error.ts';
import { replyError } from '../../src/http/wire/reply.ts';
import { surviveDefects } from '../../src/observe/fault.ts';
import { createLog } from '../../src/observe/log.ts';

const forever = () => new Promise<never>(() => {});
const defects: Record<string, () => void> = {
  timer: () => setTimeout(() => throwIt('timer')),
  tick: () => process.nextTick(() => throwIt('tick')),
  promise: () => void Promise.reject(new Error('geheim: promise')),
  stream: () => void new Readable({ read() {} }).destroy(new Error('geheim: stream')),
  text: () => void Promise.reject('geheim: no error at all'),
};
function throwIt(what: string): never {
  throw new Error(`geheim: ${what}`);
}

const app = new Hono<Env>();
app.use(scopeMiddleware({ config: { trustedHops: 0 } }));
for (const [name, cause] of Object.entries(defects)) {
  app.get(`/${name}`, () => {
    cause();
    return forever();
  });
}
app.get('/later', (c) => {
  setTimeout(() => throwIt('later'), 50);
  return c.text('ok');
});
app.get('/fine', (c) => c.text('ok'));
app.onError((_error, c) => replyError(c, new PortalError('interner_fehler')));
surviveDefects(createLog('error'), (error) => currentScope()?.fail(error));
const server = createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1', () => {
  console.log(`port ${(server.address() as AddressInfo).port}`);
});
