// The image as an operator gets it: built, and run with no more rights than compose.yaml gives it. On demand, because it takes minutes:
//   ABBILD=docker npm test -- test/deploy/image.test.ts       or podman
// ABBILD_BASIS takes the place of the base image, where there is no registry.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { root } from '../support/child.ts';
import { freePort, listenAnywhere } from '../support/port.ts';
import { makeSite, type Site } from '../support/process.ts';

const engine = process.env.ABBILD;
const skip = !engine && 'takes minutes: ABBILD=docker or ABBILD=podman builds and runs the image';
const run = promisify(execFile);
const image = `species-sighting-test-${process.pid}`;
// What compose.yaml takes away.
const confined = '--read-only --tmpfs /tmp --cap-drop all --security-opt no-new-privileges --network host'.split(' ');

/** Runs the engine; its code and what it wrote. */
async function call(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return run(engine ?? '', args, { cwd: root, maxBuffer: 2 ** 26 }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
  );
}

async function succeed(...args: string[]): Promise<string> {
  const { code, out, err } = await call(...args);
  assert.equal(code, 0, `${args.join(' ')}: ${err}`);
  return out.trim();
}

describe('the image', { skip }, () => {
  let site: Site;
  /** Settings and volume of a container. */
  let given: string[];
  let port: number;
  before(async () => {
    if (skip) return;
    const basis = process.env.ABBILD_BASIS;
    // Of the formats that podman writes, only Docker's has a health check.
    const format = engine === 'podman' ? ['--format', 'docker', '--network', 'host'] : [];
    await succeed('build', ...format, ...(basis ? ['--build-arg', `NODE=${basis}`] : []), '-t', image, '.');
    site = await makeSite();
    const data = await mkdtemp(join(tmpdir(), 'sighting-image-'));
    await chown(data, 1000, 1000);
    port = await freePort();
    const env = { DATABASE_URL: site.env.DATABASE_URL ?? '', HOST: '127.0.0.1', PORT: String(port), DEFAULT_TENANT: 'RP' };
    given = [...Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]), '-v', `${data}:/data`];
  });
  after(async () => {
    if (skip) return;
    await call('rmi', '-f', image);
    await site?.remove();
    const data = given?.at(-1)?.split(':')[0];
    if (data) await rm(data, { recursive: true });
  });

  /** Starts a container; what its health check says of it. */
  async function start(...args: string[]): Promise<{ id: string; isHealthy(): Promise<boolean> }> {
    const id = await succeed('run', '-d', ...confined, ...args, image);
    const [{ Config, Healthcheck = Config.Healthcheck }] = JSON.parse(await succeed('image', 'inspect', image));
    const [kind, ...command] = Healthcheck.Test as string[];
    assert.equal(kind, 'CMD');
    return { id, isHealthy: async () => (await call('exec', id, ...command)).code === 0 };
  }

  it('runs commands, which an operator gives it after its name', async () => {
    const help = await succeed('run', '--rm', ...confined, image, 'src/cli.ts', '--help');
    assert.match(help, /catalog import/);
    for (const command of [['migrate'], ['demo', 'load']])
      await succeed('run', '--rm', ...confined, ...given, image, 'src/cli.ts', ...command);
  });

  it('answers as nobody special, is healthy by its own check, and ends in order at a signal', async () => {
    const { id, isHealthy } = await start(...given);
    try {
      assert.equal(await isHealthy(), false, 'healthy before it listens');
      for (let attempt = 0; !(await isHealthy()); attempt++) {
        assert.ok(attempt < 120, await succeed('logs', id));
        await sleep(500);
      }
      assert.equal(await succeed('exec', id, 'id', '-u'), '1000');
      const ps = await succeed('exec', id, 'node', '-p', 'require("fs").readFileSync("/proc/1/cmdline", "utf8").split("\\0")[0]');
      assert.equal(ps, 'node', 'something stands between the supervisor and the service');
      for (const path of ['/karte', '/api/v2', '/api/v2/sichtbeobachtungen?limit=3', '/ogc', '/tiles/v1/6/33/21.mvt']) {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`);
        assert.equal(answer.status, 200, path);
        for (const [, script = ''] of (await answer.text()).matchAll(/(?:src|href)="(\/karte\/[^"]+)"/g))
          assert.equal((await fetch(`http://127.0.0.1:${port}${script}`)).status, 200, script);
      }
      // What is written lands in the volume, with an owner who is not root.
      const data = given.at(-1)?.split(':')[0] ?? '';
      assert.ok((await readdir(data)).includes('secret.key'));
      await succeed('stop', '-t', '30', id);
      assert.equal(await succeed('inspect', '-f', '{{.State.ExitCode}}', id), '0');
    } finally {
      await call('rm', '-f', id);
    }
  });

  it('ends at a signal also while it starts, although nothing but a handler is heard by the first process', async () => {
    // A database that takes connections and says nothing.
    const silent = createServer(() => {});
    const url = `postgres://x@127.0.0.1:${await listenAnywhere(silent)}/x`;
    const { id } = await start('-e', `DATABASE_URL=${url}`).finally(() => silent.unref());
    try {
      await Promise.race([once(silent, 'connection'), sleep(30_000)]);
      await succeed('stop', '-t', '8', id);
      assert.equal(await succeed('inspect', '-f', '{{.State.ExitCode}}', id), '143');
    } finally {
      await call('rm', '-f', id);
    }
  });

  it('holds what is needed to run it, and nothing else', async () => {
    const command = 'ls -a /app /app/node_modules /app/node_modules/.bin';
    const list = await succeed('run', '--rm', '--entrypoint', 'sh', image, '-c', command);
    for (const name of ['tsx', 'hono', 'src', 'sql']) assert.match(list, new RegExp(`^${name}$`, 'm'));
    assert.doesNotMatch(list, /^(typescript|playwright-core|node-linux-.*|test|docs|\.git|\.data|node)$/m);
  });
});
