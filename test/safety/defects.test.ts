// Whatever one request breaks ends that request, not the process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Running, root, start } from '../support/child.ts';
import { onPostgres } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { makeSite, type RunningService, runCli, type Site, startProcess } from '../support/process.ts';
import { waitFor } from '../support/wait.ts';

describe('an error that nobody waits for', () => {
  let running: Running;
  let url = '';
  before(async () => {
    running = start(process.execPath, ['--import', 'tsx', 'test/support/defects.ts'], { cwd: root });
    const [, port] = await waitFor('its start', () => /port (\d+)/.exec(running.output()));
    url = `http://127.0.0.1:${port}`;
  });
  after(() => running.stop());

  for (const name of ['timer', 'tick', 'promise', 'stream', 'text']) {
    it(`ends the request that it belongs to with 500, and is logged without its message: ${name}`, async () => {
      const other = fetch(`${url}/fine`);
      const answer = await fetch(`${url}/${name}`, { signal: AbortSignal.timeout(10_000) });
      assert.equal(answer.status, 500);
      assert.match(await answer.text(), /interner_fehler/);
      assert.equal((await other).status, 200);
      // What it writes comes by another way.
      await waitFor('a line', () => /defect: an error that nobody waited for/.test(running.output()));
      assert.doesNotMatch(running.output(), /geheim/);
    });
  }

  it('comes too late for a request that was answered, and is logged all the same', async () => {
    const before = running.output().length;
    assert.equal((await fetch(`${url}/later`)).status, 200);
    await waitFor('a line', () => /defect/.test(running.output().slice(before)));
    assert.equal((await fetch(`${url}/fine`)).status, 200);
    assert.equal(running.process.exitCode, null);
  });
});

/** How many requests are broken off; ABBRUECHE=100000 for a long run. */
const aborts = Number(process.env.ABBRUECHE ?? 500);

describe('clients that break off', { skip: !onPostgres && 'the same as with DATABASE_URL' }, () => {
  let site: Site;
  let service: RunningService;
  before(async () => {
    if (!onPostgres) return;
    site = await makeSite({ isMigrated: true });
    // Its tenant: without one every request would end with 421.
    assert.equal((await runCli(site, ['demo', 'load'])).code, 0);
    // All of them are to be read, though they come from one address.
    service = await startProcess(site, { LOG_LEVEL: 'error', CONNECTION_RATE: '100000' });
  });
  after(async () => {
    await service?.stop();
    await site?.remove();
  });

  const paths = [
    'login',
    'register',
    'passwort',
    'logout',
    'sichtbeobachtungen',
    'sichtbeobachtungen/1',
    'nutzer/1',
    'konto/x',
    'x',
  ];
  const types = [
    'multipart/form-data',
    'multipart/form-data; boundary=',
    `multipart/form-data; boundary=${'b'.repeat(9000)}`,
    'multipart/form-data; a=b; a=b',
    'multipart/form-data; boundary=b',
    'application/x-www-form-urlencoded',
    'text/plain',
    '',
  ];
  const bodies = [
    'loginname=a&password=b',
    '--b\r\nContent-Disposition: form-data; name="loginname"\r\n\r\na\r\n--b--\r\n',
    `--b\r\nContent-Disposition: form-data; name="foto"; filename="x.jpg"\r\nContent-Type: image/jpeg\r\n\r\n${'x'.repeat(3000)}`,
    'x'.repeat(4000),
  ];

  it(`of ${aborts} requests none ends the process, over all routes and kinds of bodies`, async () => {
    const dice = makeDice(Number(process.env.EIGENSCHAFT_SAAT ?? 11));
    const port = Number(new URL(service.url).port);
    const pid = service.process.pid;
    const breakOff = async () => {
      const method = dice.pick(['POST', 'POST', 'POST', 'PUT', 'DELETE', 'GET']);
      const body = dice.pick(bodies);
      const type = dice.pick(types);
      // Some end where they said, and are no form all the same.
      const framing = dice.pick([
        `Content-Length: ${body.length + dice.pick([0, dice.below(3000)])}`,
        'Transfer-Encoding: chunked',
      ]);
      const text = framing.startsWith('T') ? `${body.length.toString(16)}\r\n${body}\r\n${dice.pick(['', '0\r\n\r\n'])}` : body;
      const head = [
        `${method} /api/v2/${dice.pick(paths)} HTTP/1.1`,
        'Host: localhost',
        ...(type ? [`Content-Type: ${type}`] : []),
        framing,
      ];
      const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`, 'latin1');
      const cut = dice.pick([request.length, dice.below(request.length)]);
      const [wait, way] = [dice.below(8), dice.below(3)];
      const socket: Socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      await once(socket, 'connect').catch(() => {});
      socket.write(request.subarray(0, cut));
      await sleep(wait);
      if (way === 0) socket.resetAndDestroy();
      else if (way === 1) socket.destroy();
      else socket.end();
      if (!socket.closed) await Promise.race([once(socket, 'close').catch(() => {}), sleep(1000)]);
      socket.destroy();
    };
    for (let done = 0; done < aborts; done += 25) {
      await Promise.all(Array.from({ length: 25 }, breakOff));
      assert.equal(service.process.exitCode, null, service.output().slice(-2000));
    }
    assert.equal((await fetch(`${service.url}/health/live`)).status, 200);
    assert.equal(service.process.pid, pid);
    assert.doesNotMatch(service.output(), /defect|unexpected error/);
  });
});
