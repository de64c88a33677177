// The mirrors of docs/mirrors.md, run as they stand there.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serve } from '@hono/node-server';
import { settleFeed } from './support/feed.ts';
import { startTestService, type TestService, testConfig } from './support/service.ts';

const document = await readFile(new URL('../docs/mirrors.md', import.meta.url), 'utf8');
const codeIn = (language: string) =>
  new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(document)?.[1] ?? assert.fail(language);
const hasTools = ['curl', 'jq'].every((tool) => spawnSync(tool, ['--version']).status === 0);

let service: TestService;
let url: string;
let directory: string;
let server: ReturnType<typeof serve>;
before(async () => {
  service = await startTestService({ config: { ...testConfig, defaultTenant: 'N' } });
  directory = await mkdtemp(join(tmpdir(), 'sighting-mirror-'));
  server = serve({ fetch: service.app.fetch, hostname: '127.0.0.1', port: 0 });
  if (!server.listening) await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  server.close();
  await rm(directory, { recursive: true });
});

const listed = async () => (await service.request('/sichtbeobachtungen?limit=1000')).json.result as { id: number }[];

describe('a mirror of the documentation', () => {
  it('in shell keeps one file for each record', { skip: !hasTools && 'needs curl and jq' }, async () => {
    const script = join(directory, 'mirror.sh');
    await writeFile(script, codeIn('sh'));
    const lines = codeIn('sh').split('\n').length;
    assert.ok(lines <= 26, `${lines} lines`);
    const run = async () => {
      await settleFeed(service.database.sql);
      await promisify(execFile)('sh', [script, url], { cwd: directory, env: { ...process.env, WARTEN: '0' } });
      const names = (await readdir(join(directory, 'mirror'))).filter((name) => name.endsWith('.json'));
      const records = await Promise.all(
        names.map(async (name) => JSON.parse(await readFile(join(directory, 'mirror', name), 'utf8'))),
      );
      return records.sort((a, b) => b.id - a.id);
    };
    const remark = 'zwei  Worte, "und" ein \\ Rückstrich';
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await service.makeReleased({ lat: String(5530000 + i), bemerkung: remark }));
    assert.deepEqual(await run(), await listed());
    await service.database.sql`delete from portal.sichtbeobachtung where id = ${ids[0] ?? 0}`;
    await service.database.sql`update portal.sichtbeobachtung set anzahl = 5 where id = ${ids[1] ?? 0}`;
    assert.deepEqual(await run(), await listed());
    assert.equal((await listed()).length, 4);
  });

  it('in TypeScript follows what changes', async (t) => {
    const script = join(directory, 'mirror.ts');
    await writeFile(script, codeIn('ts'));
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    await service.makeReleased({ lat: '5530100' });
    await settleFeed(service.database.sql);
    const root = fileURLToPath(new URL('../', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', script, url], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill());
    const counts: number[] = [];
    const heard = async (count: number) => {
      while (!counts.includes(count))
        for (const line of String((await once(child.stdout, 'data'))[0])
          .trim()
          .split('\n'))
          counts.push(Number(line));
    };
    const before = (await listed()).length;
    await heard(before);
    const id = await service.makeReleased({ lat: '5530200' });
    await heard(before + 1);
    counts.length = 0;
    await service.database.sql`delete from portal.sichtbeobachtung where id = ${id}`;
    await heard(before);
  });
});
