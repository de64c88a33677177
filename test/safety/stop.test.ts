// The service ends when it is told to: in order, also when only npm is told, and in any case.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/db/client.ts';
import { longestMs } from '../../src/stop.ts';
import { root, start } from '../support/child.ts';
import { onPostgres } from '../support/database.ts';
import { listenAnywhere } from '../support/port.ts';
import { katalog, makeSite, type RunningService, runCli, type Site, startProcess } from '../support/process.ts';
import { waitFor } from '../support/wait.ts';

describe('a signal', () => {
  let site: Site;
  before(async () => {
    site = await makeSite({ isMigrated: true });
    assert.equal((await runCli(site, ['catalog', 'import', katalog])).code, 0);
  });
  after(() => site?.remove());

  const isOpen = ({ url }: RunningService) =>
    fetch(`${url}/health/live`).then(
      () => true,
      () => false,
    );
  /** A request that never ends. */
  const holdUp = async ({ url }: RunningService) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname).on('error', () => {});
    await once(socket, 'connect');
    socket.write(`POST /api/v2/login HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/x-www-form-urlencoded\r\n`);
    socket.write('Content-Length: 99\r\n\r\nlogin');
    return socket;
  };

  it('to npm start, of which only npm hears, ends the service in order; every request before is answered', async () => {
    const service = await startProcess(site, { npm_lifecycle_event: undefined }, ['npm', 'start']);
    let isOver = false;
    const statuses: number[] = [];
    const ask = async () => {
      while (!isOver) {
        await fetch(`${service.url}/api/v2/stadien`).then(
          async (answer) => {
            await answer.text();
            statuses.push(answer.status);
          },
          // It has ended.
          () => {
            isOver = true;
          },
        );
      }
    };
    const clients = [ask(), ask(), ask()];
    while (statuses.length <= 20 && !isOver) await sleep(50);
    const begin = performance.now();
    // Its output ends when the last process that writes to it has.
    await service.stop('SIGTERM');
    assert.ok(performance.now() - begin < 20_000);
    await Promise.all(clients);
    assert.match(service.output(), /"msg":"stopping"/);
    assert.equal(await isOpen(service), false);
    assert.deepEqual([...new Set(statuses)], [200]);
    assert.ok(statuses.length > 20, String(statuses.length));
  });

  it('has requests answered while a mail server that says nothing is waited for', async () => {
    const asked: Socket[] = [];
    const mailServer = createServer((socket) => asked.push(socket.on('error', () => {})));
    const port = await listenAnywhere(mailServer);
    const service = await startProcess(site, {
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'portal@example.org',
      DRAIN_SECONDS: '0',
    });
    const form = { loginname: 'Geduld', email: 'geduld@example.org', vorname: 'G', nachname: 'G' };
    const answer = await fetch(`${service.url}/api/v2/register`, { method: 'POST', body: new URLSearchParams(form) });
    assert.equal(answer.status, 200, await answer.text());
    await waitFor('a mail', () => asked.length > 0);
    service.process.kill('SIGTERM');
    await sleep(3000);
    assert.equal(await isOpen(service), true);
    for (const socket of asked) socket.destroy();
    // A signal that changes nothing: it is ending already.
    assert.equal(await service.stop('SIGCONT'), 0);
    mailServer.close();
  });

  it('that comes twice at once is one', async () => {
    const service = await startProcess(site, { DRAIN_SECONDS: '0' });
    service.process.kill('SIGINT');
    assert.equal(await service.stop('SIGINT'), 0);
  });

  it('that comes again ends it at once, whatever is under way', async () => {
    const service = await startProcess(site);
    const stuck = await holdUp(service);
    service.process.kill('SIGTERM');
    await sleep(1000);
    assert.equal(service.process.exitCode, null);
    const begin = performance.now();
    assert.equal(await service.stop('SIGTERM'), 1);
    assert.ok(performance.now() - begin < 2000);
    stuck.destroy();
  });

  it('ends it also when the database has frozen', { skip: !onPostgres && 'needs a database of its own' }, async (t) => {
    const service = await startProcess(site);
    const other = await openDatabase({ databaseUrl: site.env.DATABASE_URL ?? '', dataDir: '' });
    const rows = await other.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    await other.close();
    assert.ok(rows.length > 0);
    const tell = (signal: NodeJS.Signals) => {
      for (const { pid } of rows)
        try {
          process.kill(pid, signal);
        } catch (error) {
          // Ended before.
          if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
        }
    };
    try {
      tell('SIGSTOP');
    } catch {
      await service.stop();
      t.skip('needs the right to stop the processes of the database');
      return;
    }
    try {
      const asking = fetch(`${service.url}/api/v2/sichtbeobachtungen`).catch(() => null);
      await sleep(100);
      const begin = performance.now();
      await service.stop('SIGTERM');
      const ms = performance.now() - begin;
      assert.ok(ms < longestMs + 4000, `${ms} ms`);
      await asking;
    } finally {
      tell('SIGCONT');
    }
  });

  it('ends it with code 1 when something never ends', async () => {
    const code = `
      import { mock } from 'node:test';
      import { longestMs, stopOnSignal } from './src/stop.ts';
      import { createLog } from './src/observe/log.ts';
      mock.timers.enable({ apis: ['setTimeout'] });
      const never = new Promise(() => {});
      const server = { close: () => {} };
      const announce = () => {
        setImmediate(() => {
          mock.timers.tick(longestMs - 1);
          console.log('goes on');
          mock.timers.tick(1);
        });
      };
      stopOnSignal({ log: createLog('info'), drainMs: 0, startedByNpm: false, announce, finish: () => never, server, closers: [] });
      setInterval(() => {}, 1000);
      console.log('ready');`;
    const child = start(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], { cwd: root });
    await waitFor('its start', () => /ready/.test(child.output()));
    assert.equal(await child.stop(), 1);
    assert.match(child.output(), /"msg":"stopping".*\ngoes on\n.*"msg":"something hangs, ending without it"/s);
  });
});
