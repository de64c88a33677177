// Backups: what was acknowledged before one began is in it, what is broken off or altered is refused, and what is of a time after it
// ends with a restore (P5.1).
import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createApp } from '../../src/app.ts';
import { createBackup, type Source } from '../../src/backup/create.ts';
import { hashFile } from '../../src/backup/media.ts';
import { type Restored, restoreBackup, type Target } from '../../src/backup/restore.ts';
import { checkBackup } from '../../src/backup/verify.ts';
import { loadConfig } from '../../src/config.ts';
import { type Database, openDatabase, type Sql } from '../../src/db/client.ts';
import { isMigrated } from '../../src/db/migrate.ts';
import { holdMedia, requireEmptyDatabase } from '../../src/db/sicherung.ts';
import { removeEntfernt, sweepStorage } from '../../src/jobs/media.ts';
import { makeMediumName } from '../../src/media/name.ts';
import { openStorage } from '../../src/media/open-storage.ts';
import { type Storage, StorageError } from '../../src/media/storage.ts';
import { leaveOwnerOut } from '../support/code.ts';
import { closeAtEnd, createDatabase, databaseUrlOf, onPostgres } from '../support/database.ts';
import { makeDirectory } from '../support/end.ts';
import { settleFeed } from '../support/feed.ts';
import { type Outcome, runCli } from '../support/process.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { listNames, makeWithPhoto } from '../support/storage.ts';

const { programs } = loadConfig(process.env);
const progress = { step() {}, end() {} };

let service: TestService;
let source: Source;
let home: string;
let backup: string;
const warnings: string[] = [];
before(async () => {
  service = await startTestService();
  home = await makeDirectory();
  backup = join(home, 'sicherung');
  await writeFile(join(home, 'secret.key'), 'the key of this installation, 32 or more\n');
  source = { database: service.database, storage: service.media.storage, secretKey: null, dataDir: home, programs };
});

const back = (changes: Partial<Source> = {}, dir = backup) =>
  createBackup({ ...source, ...changes }, dir, progress, (sentence) => warnings.push(sentence));
/** The same where nobody restores it: to dump the embedded database takes two seconds. */
const backQuickly = (changes: Partial<Source> = {}, dir = backup) => {
  const dump = service.database.dump && (async () => gzipSync('a database'));
  return back({ database: { ...service.database, dump }, ...changes }, dir);
};
const check = (dir = backup) => checkBackup(dir, programs, progress);
const restore = (target: Target, dir = backup) => restoreBackup(target, dir, progress, () => {});

const withdraw = (id: number) => service.request(`/sichtbeobachtungen/${id}`, { as: 'melder', method: 'DELETE' });
const storedNames = async (sql: Sql) =>
  (
    await sql<{ name: string }[]>`
      select unnest(array_remove(array[foto, foto_2, foto_3, biotopfoto, audio], null)) as name from portal.sichtbeobachtung`
  )
    .map(({ name }) => name)
    .sort();

let targets = 0;
/** An empty place to restore to. */
async function makeTarget(): Promise<Target & { remove(): Promise<void> }> {
  const dataDir = join(home, `ziel-${++targets}`);
  const storage = openStorage({ directory: join(dataDir, 'media') });
  const target = { databaseUrl: null, dataDir, storage, secretKey: null, programs };
  if (!onPostgres) return { ...target, remove: async () => {} };
  const { url, drop } = await createDatabase(`${process.env.TEST_TEMPLATE}_ziel_${process.pid}_${targets}`);
  let removing: Promise<void> | undefined;
  const remove = () => {
    removing ??= drop();
    return removing;
  };
  closeAtEnd(remove);
  return { ...target, databaseUrl: url, remove };
}

/** Restores, looks, and removes what was restored. */
async function withRestored(dir: string, look: (restored: Restored, target: Target) => Promise<void>): Promise<void> {
  const target = await makeTarget();
  try {
    const restored = await restore(target, dir);
    try {
      await look(restored, target);
    } finally {
      await restored.database.close();
    }
  } finally {
    await target.remove();
  }
}

/** Anonymous reads of the service, as it answers on another database. */
function readOf(database: Database, storage: Storage): (path: string, tag?: string | null) => Promise<Response> {
  const { sql } = database;
  const app = createApp({ ...service.deps, sql, reads: sql, regexpSql: sql, media: { ...service.media, storage } });
  return async (path, tag) =>
    app.request(`http://n.test${path}`, { headers: { host: 'n.test', ...(tag && { 'if-none-match': tag }) } });
}

describe('a backup', () => {
  const kept: { id: number; foto: string }[] = [];
  let early: string;
  let late: string;
  let lateTag: string | null;
  const feed = '/abgleich/v1/sichtbeobachtungen?limit=1000';
  const list = '/api/v2/sichtbeobachtungen?limit=1000';
  const change = (sql: Sql, bemerkung: string) =>
    sql`update portal.sichtbeobachtung set bemerkung = ${bemerkung} where id = ${kept[0]?.id ?? 0}`;
  const cursorOf = async (database: Database, storage: Storage): Promise<string> => {
    await settleFeed(database.sql);
    return ((await (await readOf(database, storage)(feed)).json()) as { cursor: string }).cursor;
  };

  it('has all that was acknowledged before it began, with its files, whatever is written and removed meanwhile', async () => {
    for (let i = 0; i < 3; i++) kept.push(await makeWithPhoto(service, 'oeffentlich'));
    await service.database.sql`
      update portal.sichtbeobachtung
      set status = 'freigegeben', experte_id = (select u.id from portal.nutzer u where u.loginname = 'expertin')`;
    early = await cursorOf(service.database, service.media.storage);
    const doomed = await makeWithPhoto(service);
    // Each of these is withdrawn while it goes on, and others are reported.
    const leaving = [await makeWithPhoto(service), await makeWithPhoto(service), await makeWithPhoto(service)];
    let goesOn = onPostgres;
    const writing = (async () => {
      for (let next = leaving.shift(); goesOn && next; next = leaving.shift()) {
        assert.equal((await withdraw(next.id)).status, 200);
        await removeEntfernt(service.database.sql, service.media.storage);
        leaving.push(await makeWithPhoto(service));
      }
    })();
    // This one between the dump and the copy.
    let withdrawn: Promise<unknown> | undefined;
    const get = async (name: string) => {
      if (onPostgres) withdrawn ??= withdraw(doomed.id).then(() => removeEntfernt(service.database.sql, service.media.storage));
      await withdrawn;
      return service.media.storage.get(name);
    };
    const storage = Object.assign(Object.create(service.media.storage), { get });
    const { manifest, copied } = await back({ storage }).finally(() => {
      goesOn = false;
      return writing;
    });
    assert.deepEqual(manifest.medien.fehlend, []);
    assert.equal(copied, manifest.anzahl.sichtbeobachtung);
    assert.deepEqual(warnings, []);
    assert.ok((await check()).list.has(doomed.foto));
    // Of a time after it.
    await change(service.database.sql, 'nach der Sicherung');
    late = await cursorOf(service.database, service.media.storage);
    lateTag = (await readOf(service.database, service.media.storage)(list)).headers.get('etag');
    assert.notEqual(lateTag, null);
  });

  it('is nobody else’s to read', async () => {
    for (const name of await readdir(backup)) {
      const { mode } = await stat(join(backup, name));
      if (/^(sicherung\.json|datenbank|medien-|schluessel)/.test(name)) assert.equal(mode & 0o777, 0o600, name);
    }
    assert.equal((await stat(backup)).mode & 0o777, 0o700);
    // Also a directory that was there, but not one that is refused.
    const wide = join(home, 'weit');
    await mkdir(wide, { mode: 0o755 });
    await backQuickly({}, wide);
    assert.equal((await stat(wide)).mode & 0o777, 0o700);
    const others = join(home, 'fremd');
    await mkdir(others, { mode: 0o755 });
    await writeFile(join(others, 'brief.txt'), '');
    await assert.rejects(back({}, others), /keine Sicherung/);
    assert.equal((await stat(others)).mode & 0o777, 0o755);
  });

  it('restores into an empty place: records, files with their bytes, the key; twice apart from each other', async () => {
    let other = '';
    await withRestored(backup, async ({ database, manifest }, target) => {
      const { sql } = database;
      const rows = await sql<{ id: number }[]>`select id from portal.sichtbeobachtung`;
      assert.equal(rows.length, manifest.anzahl.sichtbeobachtung);
      for (const { id, foto } of kept) {
        assert.ok(rows.some((row) => row.id === id));
        assert.deepEqual(await target.storage.get(foto), await service.media.storage.get(foto));
      }
      assert.deepEqual(await listNames(target.storage), await storedNames(sql));
      const key = join(target.dataDir, 'secret.key');
      assert.deepEqual(await readFile(key), await readFile(join(home, 'secret.key')));
      assert.equal((await stat(key)).mode & 0o777, 0o600);
      assert.deepEqual(await listRights(sql), await listRights(service.database.sql));

      const read = readOf(database, target.storage);
      await change(sql, 'nach der ersten Rückkehr');
      assert.equal((await read(list, lateTag)).status, 200, 'the same number of changes, and another one');
      assert.equal((await read(`${feed}&seit=${early}`)).status, 200, 'a cursor of before the backup');
      assert.equal((await read(`${feed}&seit=${late}`)).status, 410, 'a cursor of after it');
      other = await cursorOf(database, target.storage);
      assert.equal((await read(`${feed}&seit=${other}`)).status, 200);
    });
    // The same functions, and another six seconds.
    if (!onPostgres) return;
    await withRestored(backup, async ({ database }, target) => {
      const read = readOf(database, target.storage);
      // Places are numbers of transactions: so many that this feed has come further than the first one did.
      await database.sql`
        do $$ begin for i in 1..5000 loop perform pg_current_xact_id(); commit; end loop; end $$`.simple();
      await change(database.sql, 'nach der zweiten Rückkehr');
      await settleFeed(database.sql);
      assert.equal((await read(`${feed}&seit=${other}`)).status, 410, 'a cursor of what followed another restore of it');
      assert.equal((await read(`${feed}&seit=${early}`)).status, 200);
    });
  });

  it('of an older release is migrated; one of a newer release is refused', {
    skip: !onPostgres && 'the embedded database is migrated by the same code',
  }, async () => {
    const { sql } = service.database;
    const [present] = await sql`select code_release::text as release, code_hash from portal.installation`;
    const dir = join(home, 'aeltere');
    await sql`update portal.installation set code_release = '{0,6,0}', code_hash = 'another'`;
    await sql`drop function api.require_medium_lock()`;
    await back({}, dir);
    assert.match(warnings.pop() ?? '', /älteren Version/);
    await withRestored(dir, async ({ database, manifest }) => {
      assert.equal(manifest.version, '0.6.0');
      const [row] = await database.sql`
        select code_release::text as release, to_regprocedure('api.require_medium_lock()') is not null as has_lock
        from portal.installation`;
      assert.deepEqual([row?.release, row?.has_lock], [present?.release, true]);
      assert.ok(await isMigrated(database.sql));
      await sql`
        create function api.require_medium_lock() returns void language plpgsql volatile
        as 'begin lock table portal.medium_entfernt in row share mode; end'`;
    });
    await sql`update portal.installation set code_release = ${present?.release}::integer[], code_hash = ${present?.code_hash}`;
    const path = join(dir, 'sicherung.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('"version": "0.6.0"', '"version": "99.0.0"'));
    await refuses(dir, /^Die Sicherung ist von Version 99\.0\.0, dieses Programm ist Version .*; bitte mit 99\.0\.0 oder neuer/);
  });

  it('a second time in the same directory copies what is new, and forgets what is gone', async () => {
    const before = await readdir(backup);
    const fresh = await makeWithPhoto(service, 'oeffentlich');
    const gone = kept.pop();
    await service.database.sql`delete from portal.sichtbeobachtung where id = ${gone?.id ?? 0}`;
    const { manifest, copied } = await back();
    const { list } = await check();
    assert.ok(list.has(fresh.foto) && !list.has(gone?.foto ?? ''));
    assert.deepEqual([...list.keys()].sort(), await listNames(openStorage({ directory: join(backup, 'medien') })));
    // Those that were withdrawn and made while the first one went on are new too.
    const earlier = before.find((name) => name.startsWith('medien-')) ?? '';
    assert.ok(copied >= 1 && copied < manifest.medien.anzahl);
    assert.ok(!(await readdir(backup)).includes(earlier));
    assert.equal((await readdir(backup)).length, before.length);
  });
});

/** Who may do what, with everything that the service made; whoever restores owns it. */
async function listRights(sql: Sql): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select format('%s %s', p.oid::regprocedure, p.proacl) as text
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('private', 'api', 'ausgabe', 'gis')
    union all
    select format('%s %s', c.oid::regclass, c.relacl)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('portal', 'private', 'api', 'gis', 'ausgabe') and c.relkind in ('r', 'v')
    union all
    select format('%s %s', n.nspname, coalesce(n.nspacl, acldefault('n', n.nspowner))) from pg_namespace n where n.nspname in ('portal', 'private', 'api', 'gis', 'ausgabe')
    order by text`;
  return leaveOwnerOut(
    sql,
    rows.map(({ text }) => text),
  );
}

/** A restore is refused with this, and nothing was touched. */
async function refuses(dir: string, sentence: RegExp): Promise<void> {
  const target = await makeTarget();
  try {
    await assert.rejects(restore(target, dir), { message: sentence });
    assert.deepEqual(await readdir(target.dataDir).catch(() => []), []);
    if (target.databaseUrl === null) return;
    const database = await openDatabase(target);
    const [row] = await database.sql`select to_regnamespace('portal') is null as empty`;
    await database.close();
    assert.equal(row?.empty, true);
  } finally {
    await target.remove();
  }
}

describe('while a backup copies files', () => {
  it('none leaves the storage, whoever lets go of it; afterwards they do', {
    skip: !onPostgres && 'nobody else has the embedded database',
  }, async () => {
    const { database, media } = service;
    const [withdrawn, deleted] = [await makeWithPhoto(service), await makeWithPhoto(service)];
    const orphan = makeMediumName('jpg');
    await media.storage.put(orphan, new Uint8Array([1]), '');
    const all = [withdrawn.foto, deleted.foto, orphan];
    const present = async () => {
      const names = await listNames(media.storage);
      return all.filter((name) => names.includes(name));
    };
    const sweep = async () => {
      await removeEntfernt(database.sql, media.storage);
      await sweepStorage(database.sql, media.storage, new Date(Date.now() + 60_000));
    };
    await holdMedia(database, assert.fail, async () => {
      assert.equal((await withdraw(withdrawn.id)).status, 200);
      await database.sql`delete from portal.sichtbeobachtung where id = ${deleted.id}`;
      await sweep();
      assert.deepEqual(await present(), all);
    });
    await sweep();
    assert.deepEqual(await present(), []);
  });
});

describe('what is no whole backup', () => {
  it('because it was broken off, is told apart; the one before it stays whole; the next goes on', async () => {
    const dir = join(home, 'abgebrochen');
    let left = 1;
    const get = async (name: string) => {
      if (left-- > 0) return service.media.storage.get(name);
      throw new StorageError('away');
    };
    const storage = Object.assign(Object.create(service.media.storage), { get });
    await assert.rejects(backQuickly({ storage }, dir), StorageError);
    await assert.rejects(check(dir), { message: /keine vollständige Sicherung: sicherung\.json fehlt/ });
    await refuses(dir, /keine vollständige Sicherung/);
    const { manifest, copied } = await backQuickly({}, dir);
    assert.equal(copied, manifest.medien.anzahl - 1, 'what was there is not fetched again');
    await check(dir);

    await makeWithPhoto(service, 'oeffentlich');
    left = 0;
    await assert.rejects(backQuickly({ storage }, dir), StorageError);
    assert.deepEqual((await check(dir)).manifest, manifest);
  });

  it('because a byte is another one or a part is gone, is found by verify, and not restored', async () => {
    const { manifest, list } = await check();
    const [name = ''] = list.keys();
    const parts = [manifest.datenbank.datei, manifest.medien.datei, manifest.schluessel?.datei ?? ''];
    for (const part of [...parts, `medien/${name.slice(0, 2)}/${name}`]) {
      const path = join(backup, part);
      const bytes = await readFile(path);
      const flipped = Buffer.from(bytes);
      const middle = flipped.length >> 1;
      flipped.writeUInt8(flipped.readUInt8(middle) ^ 1, middle);
      const told = part.replace(/^.*\//, '').replaceAll('.', '\\.');
      await writeFile(path, flipped);
      await assert.rejects(check(), { message: new RegExp(`beschädigt:\\n  .*${told} ist verändert$`) });
      if (part === parts[0]) await refuses(backup, /ist verändert/);
      await rm(path);
      await assert.rejects(check(), { message: new RegExp(`beschädigt:\\n  .*${told} fehlt$`) });
      await writeFile(path, bytes);
    }
    await check();
  });

  it('because its list lacks a file that a record in the dump has, is found', {
    skip: !onPostgres && 'the dump of the embedded database is its files',
  }, async () => {
    const dir = join(home, 'ohne-datei');
    const { manifest } = await back({}, dir);
    const path = join(dir, manifest.medien.datei);
    const [, ...rest] = (await readFile(path, 'utf8')).split('\n');
    await writeFile(path, rest.join('\n'));
    const text = JSON.stringify({ ...manifest, medien: { ...manifest.medien, sha256: await hashFile(path) } });
    await writeFile(join(dir, 'sicherung.json'), text);
    await assert.rejects(check(dir), { message: /gehört zu einer Beobachtung und ist nicht in der Liste/ });
  });
});

describe('a restore', () => {
  it('refuses a place that is not empty, and says what is there', async () => {
    const target = await makeTarget();
    if (onPostgres) {
      const { database } = await restore(target);
      await database.close();
      await target.storage.remove(await listNames(target.storage));
    } else {
      await mkdir(join(target.dataDir, 'database', 'pg'), { recursive: true });
      await writeFile(join(target.dataDir, 'database', 'pg', 'PG_VERSION'), '18\n');
    }
    const found = onPostgres
      ? /^Die Datenbank ist nicht leer\. Gefunden: Schema api .*portal \(\d+ Tabellen\)/
      : /schon eine Datenbank/;
    await assert.rejects(restore(target), { message: found });
    assert.deepEqual(await listNames(target.storage), [], 'nothing was touched');
    await target.remove();
  });

  it('refuses a role that may make nothing there, with the setting that names another', { skip: !onPostgres }, async () => {
    // Any role but the owner.
    await service.database.sql.begin(async (tx) => {
      await tx`set local role pg_monitor`;
      await assert.rejects(requireEmptyDatabase(tx as unknown as Sql), {
        message: /MIGRATE_DATABASE_URL .* noch einmal restore\.$/,
      });
    });
  });

  it('refuses another key than that of the backup, before anything is touched', async () => {
    const target = await makeTarget();
    await openStorage({ directory: join(target.dataDir, 'media') }).put(makeMediumName('jpg'), new Uint8Array([1]), '');
    await writeFile(join(target.dataDir, 'secret.key'), 'the key of somebody else, 32 or more\n');
    await assert.rejects(restore(target), { message: /ein anderer Schlüssel/ });
    assert.equal((await listNames(target.storage)).length, 1);
    await target.remove();
  });

  it('of the other kind of database says where it belongs', async () => {
    const target = { ...(await makeTarget()), databaseUrl: onPostgres ? null : 'postgres://127.0.0.1:1/x' };
    await assert.rejects(restore(target), {
      message: onPostgres ? /DATABASE_URL nennt die leere Datenbank/ : /zurückgespielt wird sie ohne DATABASE_URL/,
    });
  });
});

describe('the directory of a backup', () => {
  it('is not one with other things in it, nor that of another installation', async () => {
    await assert.rejects(backQuickly({}, home), { message: /ist nicht leer und keine Sicherung \(gefunden: / });
    const path = join(backup, 'sicherung.json');
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace(/"installation": "[0-9a-f]{32}"/, `"installation": "${'0'.repeat(32)}"`));
    await assert.rejects(backQuickly(), { message: /die Sicherung einer anderen Installation/ });
    await writeFile(path, '{"format": 2}');
    await assert.rejects(check(), { message: /hat Format 2, dieses Programm kennt Format 1/ });
    await writeFile(path, text.slice(0, 100));
    await assert.rejects(check(), { message: /sicherung\.json in .* ist beschädigt/ });
    await writeFile(path, text);
  });

  it('gets nothing from a storage that has none of the files', async () => {
    const storage = openStorage({ directory: join(home, 'falsch') });
    await assert.rejects(backQuickly({ storage }, join(home, 'leer')), { message: /MEDIA_URL/ });
    await assert.rejects(check(join(home, 'leer')), { message: /keine vollständige/ });
  });
});

describe('on the command line', () => {
  let site: { env: Record<string, string>; remove(): Promise<void> };
  const run = async (args: string[], code: number, env: Record<string, string> = {}): Promise<Outcome> => {
    const outcome = await runCli({ ...site, env: { ...site.env, ...env } }, args);
    assert.equal(outcome.code, code, outcome.err);
    return outcome;
  };

  it('backs up, verifies and restores; passwords stand in no argument', async () => {
    const dir = join(home, 'befehl');
    const { sql } = service.database;
    const [row] = await sql<{ name: string }[]>`select current_database() as name`;
    const target = await makeTarget();
    const url = new URL(onPostgres ? databaseUrlOf(row?.name ?? '') : 'postgres://x');
    url.password = 'ein-geheimnis';
    const media = { MEDIA_URL: join(service.mediaDirectory, 'media') };
    const bin = await makeWrappers();
    site = {
      env: { DATA_DIR: home, DATABASE_URL: onPostgres ? url.href : '', PG_BIN: onPostgres ? bin : '' },
      remove: target.remove,
    };
    // The embedded database of the service is in memory: a command has none of it.
    if (onPostgres) {
      const [lost] = await storedNames(sql);
      const bytes = await service.media.storage.get(lost ?? '');
      await service.media.storage.remove([lost ?? '']);
      const missing = await run(['backup', dir], 2, media);
      assert.match(missing.out, /^\d+ Beobachtungen und \d+ Dateien \(\d+ neu\) sind in .* gesichert\.\n$/);
      assert.match(missing.err, /Hinweis: 1 Datei fehlte schon in der Ablage/);
      await service.media.storage.put(lost ?? '', bytes ?? new Uint8Array(), '');
      assert.match((await run(['backup', dir], 0, media)).out, /\(1 neu\)/);
      for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        assert.equal((await stat(path)).mode & 0o777, entry.isDirectory() ? 0o700 : 0o600, path);
      }
      const calls = await readFile(join(bin, 'calls'), 'utf8');
      assert.match(calls, /^args .*--format=custom/m);
      assert.doesNotMatch(calls.replaceAll(/^password .*$/gm, ''), /ein-geheimnis/);
      assert.match(calls, /^password ein-geheimnis$/m);
      assert.match((await run(['backup'], 1)).err, /^Das Verzeichnis fehlt/);
      assert.match((await run(['backup', 'verfy', dir], 1)).err, /^Ein Verzeichnis ist zu viel/);
    } else await back({}, dir);

    const verified = await run(['backup', 'verify', dir], 0);
    assert.match(verified.out, /^Die Sicherung ist vollständig und unverändert: .* Uhr, Version [\d.]+, \d+ Beobachtungen, /);
    const there = { DATA_DIR: target.dataDir, DATABASE_URL: target.databaseUrl ?? '', MEDIA_URL: '' };
    assert.match((await run(['restore', dir], 0, there)).out, /^Zurückgespielt: .* Beobachtungen, \d+ Dateien, davon \d+ neu/);
    const again = await run(['restore', dir], 1, there);
    assert.match(again.err, onPostgres ? /nicht leer/ : /schon eine Datenbank/);
    assert.equal(again.err.trim().split('\n').length, 1);
    assert.match((await run(['restore'], 1)).err, /^Das Verzeichnis fehlt/);
    await target.remove();
  });

  it('says when the programs of PostgreSQL are missing or too old', {
    skip: !onPostgres && 'the embedded database needs none',
  }, async () => {
    const none = await run(['backup', join(home, 'ohne')], 1, { PG_BIN: home });
    assert.match(none.err, /^pg_dump lässt sich nicht starten \(ENOENT\).*PG_BIN/m);
    const bin = await mkdtemp(join(home, 'alt-'));
    await writeFile(join(bin, 'pg_dump'), '#!/bin/sh\necho "pg_dump (PostgreSQL) 9.6.24"\n');
    await chmod(join(bin, 'pg_dump'), 0o755);
    const old = await run(['backup', join(home, 'ohne')], 1, { PG_BIN: bin });
    assert.match(old.err, /^pg_dump ist Version 9\.6\.24, nötig ist 1\d oder neuer\. .*PG_BIN/m);
  });

  it('says why pg_dump failed, without rows and long values, and leaves nothing that looks whole', {
    skip: !onPostgres && 'the embedded database needs none',
  }, async () => {
    const bin = await mkdtemp(join(home, 'kaputt-'));
    const complaint = `pg_dump: error: no: "${'x'.repeat(80)}" of "name"\nDETAIL: a row of somebody`;
    await writeFile(
      join(bin, 'pg_dump'),
      `#!/bin/sh\n[ "$1" = --version ] && exec echo "pg_dump (PostgreSQL) 99.0"\ncat >&2 <<'E'\n${complaint}\nE\nexit 1\n`,
    );
    await chmod(join(bin, 'pg_dump'), 0o755);
    const dir = join(home, 'gescheitert');
    await assert.rejects(back({ programs: { ...programs, directory: bin } }, dir), {
      message: 'pg_dump ist gescheitert: no: "…" of "name"',
    });
    await assert.rejects(check(dir), { message: /keine vollständige/ });
  });
});

/** Programs of PostgreSQL that write down how they were called. */
async function makeWrappers(): Promise<string> {
  const bin = await mkdtemp(join(home, 'bin-'));
  for (const program of ['pg_dump', 'pg_restore']) {
    const log = `printf 'args %s\\npassword %s\\n' "$*" "$PGPASSWORD" >> '${bin}/calls'`;
    await writeFile(join(bin, program), `#!/bin/sh\n${log}\nexec ${program} "$@"\n`);
    await chmod(join(bin, program), 0o755);
  }
  return bin;
}
