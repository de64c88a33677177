// The mirrors of docs/mirrors.md, run as they stand there.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { hasProgram, root } from './support/child.ts';
import { makeDirectory } from './support/end.ts';
import { settleFeed } from './support/feed.ts';
import { serveApp } from './support/listen.ts';
import { startTestService, type TestService, testConfig } from './support/service.ts';

const document = await readFile(new URL('../docs/mirrors.md', import.meta.url), 'utf8');
const codeIn = (language: string) =>
  new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(document)?.[1] ?? assert.fail(language);
const hasTools = ['curl', 'jq'].every((tool) => hasProgram(tool, '--version'));

let service: TestService;
let url: string;
let directory: string;
before(async () => {
  service = await startTestService({ config: { ...testConfig, defaultTenant: 'N' } });
  directory = await makeDirectory();
  url = `http://127.0.0.1:${await serveApp(service.app.fetch)}`;
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
