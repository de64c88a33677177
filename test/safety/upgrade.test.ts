// An upgrade of a portal that is in use: from the first state of the tables with its data, and from the last release beside an instance of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../src/db/client.ts';
import { hasProgram, root } from '../support/child.ts';
import { onPostgres } from '../support/database.ts';
import { makeDirectory } from '../support/end.ts';
import { fillSite, logIn, makeSite, type RunningService, runCli, type Site, startProcess } from '../support/process.ts';
import { listWrong } from '../support/truth.ts';

// Read from the history: code that nobody runs any more is not kept beside the present.
const states = {
  /** The last state with a single migration of tables. */
  first: '9f71a1ab48d2a776fb431545fa571a5e559ade72',
  /** Release 0.33.0. */
  last: '4ea78b4',
};
const isKnown = (commit: string) => hasProgram('git', '-C', root, 'cat-file', '-e', `${commit}^{commit}`);
const skipOf = (commit: string) =>
  (!onPostgres && 'needs two services on one database') || (!isKnown(commit) && 'the history before this state is not here');

/** A database that the code of an earlier state has migrated and filled. */
interface Earlier {
  site: Site;
  /** The same, with that code. */
  old: Site;
  database: Database;
  remove(): Promise<void>;
}

async function makeEarlier(commit: string, records: number): Promise<Earlier> {
  const site = await makeSite();
  const old = { ...site, cwd: await makeDirectory() };
  const archive = execFileSync('git', ['archive', commit, 'src', 'sql', 'package.json', 'package-lock.json', 'tsconfig.json'], {
    cwd: root,
    maxBuffer: 2 ** 28,
  });
  execFileSync('tar', ['-x', '-C', old.cwd], { input: archive });
  await symlink(join(root, 'node_modules'), join(old.cwd, 'node_modules'));
  assert.equal((await runCli(old, ['migrate'])).code, 0);
  await fillSite(old);
  const database = await openDatabase({ databaseUrl: site.env.DATABASE_URL ?? '', dataDir: '' });
  await database.connect()`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
    select n.id, (array(select a.id from portal.art a order by a.id))[1 + i % (select count(*) from portal.art)],
      st_setsrid(st_makepoint(b.x + i % 1000, b.y + i / 1000), 25832), date '2024-01-01' + i % 300,
      'oeffentlich', (array['freigegeben', 'pruefung'])[1 + i % 2]::portal.status
    from generate_series(1, ${records}::integer) i, (select min(id) as id from portal.nutzer) n,
      (select st_x(st_centroid(st_extent(boundary))) as x, st_y(st_centroid(st_extent(boundary))) as y from portal.mandant) b`;
  await database.connect()`analyze`;
  return {
    site,
    old,
    database,
    async remove() {
      await database.close();
      await site.remove();
    },
  };
}

const dumpMs = 5000;

/** Takes part in every table, as pg_dump does it; ends by itself. */
async function dump(database: Database): Promise<{ ended: Promise<unknown> }> {
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const ended = database.connect().begin('isolation level repeatable read', async (tx) => {
    await tx`
      do $$
      declare
        v_table regclass;
      begin
        for v_table in select c.oid from pg_class c where c.relnamespace = 'portal'::regnamespace and c.relkind = 'r' loop
          execute format('lock table %s in access share mode', v_table);
        end loop;
      end
      $$`.simple();
    lock();
    await sleep(dumpMs);
  });
  await locked;
  return { ended };
}

describe('an upgrade from the first tables, with 50 000 records', { skip: skipOf(states.first) }, () => {
  let earlier: Earlier;
  before(async () => {
    if (!skipOf(states.first)) earlier = await makeEarlier(states.first, 50_000);
  });
  after(async () => earlier?.remove());

  it('waits for an open dump; tenants are linked rightly', async () => {
    const { ended } = await dump(earlier.database);
    const begun = performance.now();
    const { code, err } = await runCli(earlier.site, ['migrate']);
    const migratedMs = performance.now() - begun;
    await ended;
    assert.equal(code, 0, err);
    assert.match(err, /Index portal\.sichtbeobachtung_\w+ wird geändert/);
    assert.ok(migratedMs > dumpMs / 2, 'the dump was not waited for');
    assert.deepEqual(await listWrong(earlier.database.connect()), []);
  });
});

interface Answer {
  kind: string;
  status: number;
  /** By performance.now(). */
  begun: number;
  ended: number;
}

/** Milliseconds from the begin of the first refused request to the end of the last one that follows it without an answer between. */
function longestRefusal(answers: Answer[]): number {
  let longest = 0;
  let begun: number | null = null;
  for (const answer of answers) {
    begun = answer.status === 503 ? (begun ?? answer.begun) : null;
    if (begun !== null) longest = Math.max(longest, answer.ended - begun);
  }
  return longest;
}

describe('an upgrade from the last release, with 50 000 records', { skip: skipOf(states.last) }, () => {
  let earlier: Earlier;
  before(async () => {
    if (!skipOf(states.last)) earlier = await makeEarlier(states.last, 50_000);
  });
  after(async () => earlier?.remove());

  it('under readers and writers keeps nobody out for long, and an instance of that release goes on answering', async () => {
    const { site, old, database } = earlier;
    const service = await startProcess(old);
    const headers = await logIn(service);

    const answers: Answer[] = [];
    let current: RunningService = service;
    let isOver = false;
    const ask = async (kind: string, make: (n: number) => [string, RequestInit?]) => {
      for (let n = 0; !isOver; n++) {
        const begun = performance.now();
        const [path, init] = make(n);
        const answer = await fetch(`${current.url}/api/v2/${path}`, init);
        await answer.arrayBuffer();
        answers.push({ kind, status: answer.status, begun, ended: performance.now() });
        await sleep(20);
      }
    };
    const write = (path: string, method: string, fields: Record<string, string>): [string, RequestInit] => {
      const body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.append(name, value);
      return [path, { method, headers, body }];
    };
    const report = (n: number) => write('sichtbeobachtungen', 'POST', { art: '100', lat: '5484000', lon: String(391000 + n) });
    const [path, init] = report(-1);
    const made = (await (await fetch(`${service.url}/api/v2/${path}`, init)).json()) as { result: [{ id: number }] };
    // Also by the old instance on the new functions: each field that it sends, and none that it doesn't.
    const change = (n: number) =>
      write(
        `sichtbeobachtungen/${made.result[0].id}`,
        'PUT',
        n % 2 ? { anzahl: String(1 + n) } : { lat: '5484001', lon: '391500.5' },
      );
    const clients = [
      ask('newest', () => ['sichtbeobachtungen?limit=20']),
      ask('tenant', () => ['sichtbeobachtungen?limit=20&mandant=AUE']),
      ask('own', () => ['sichtbeobachtungen?limit=5&bereich=persoenlich', { headers }]),
      ask('report', report),
      ask('change', change),
    ];

    // By oid: what a statement of the old instance has looked up. It asks for the language first and for the text later.
    const readLanguages = () => database.sql<{ id: number; function: string; language: string }[]>`
      select p.oid::integer as id, p.oid::regprocedure::text as function, l.lanname as language
      from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace = 'api'::regnamespace`;
    const languages = new Map((await readLanguages()).map(({ id, language }) => [id, language]));

    const begun = performance.now();
    const { code, err } = await runCli(site, ['migrate']);
    const migratedMs = performance.now() - begun;
    // Also by the old instance, on the new functions.
    await sleep(2000);
    current = await startProcess(site);
    const young = current;
    await sleep(500);
    isOver = true;
    await Promise.all(clients);
    await service.stop('SIGKILL');
    await young.stop('SIGKILL');

    assert.equal(code, 0, err);
    const kept = (await readLanguages()).filter(({ id }) => languages.has(id));
    assert.ok(kept.length > 10);
    assert.deepEqual(
      kept.filter(({ id, language }) => language !== languages.get(id)),
      [],
    );
    for (const kind of new Set(answers.map((answer) => answer.kind))) {
      const mine = answers.filter((answer) => answer.kind === kind);
      assert.ok(
        mine.some(({ status, ended }) => status < 300 && ended > begun + migratedMs),
        `${kind} after the upgrade`,
      );
      const failed = mine.filter(({ status }) => status >= 300 && status !== 503);
      const defects = [service, young].map((of) => of.output().match(/.*"level":50.*/g) ?? []);
      assert.equal(failed.length, 0, `migrated from ${begun} to ${begun + migratedMs}: ${JSON.stringify({ failed, defects })}`);
      // None, or one report that waited for 1.5 s; where other tests compute beside it, some.
      assert.ok(longestRefusal(mine) < 6000, `${kind}: ${JSON.stringify(mine.filter(({ status }) => status === 503))}`);
    }
    // A start script of the old release may migrate once more: it finds what it calls, and leaves all as it is.
    const again = await runCli(earlier.old, ['migrate']);
    assert.equal(again.code, 0, again.err);
    assert.deepEqual(await listWrong(database.connect()), []);
  });
});
