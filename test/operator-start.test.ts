// Starts that can not succeed: the operator is told why in one line, and how to go on.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openDatabase } from '../src/db/client.ts';
import { createDatabase, databaseUrlOf, onPostgres } from './support/database.ts';
import { listenAnywhere } from './support/port.ts';
import { makeSite, makeSiteOn, runCli, runMain, startProcess } from './support/process.ts';

describe('a start that can not succeed ends with one line and code 1', () => {
  const dataDir = join(tmpdir(), `sighting-none-${process.pid}`);
  const table: [string, Record<string, string>, RegExp][] = [
    ['PORT is no port', { PORT: '99999' }, /^PORT ist „99999“, erlaubt ist eine ganze Zahl von 0 bis 65535\.\n$/],
    ['SECRET_KEY too short', { SECRET_KEY: 'kurz' }, /^SECRET_KEY hat 4 Zeichen, nötig sind mindestens 32\.\n$/],
    [
      'DATABASE_URL of another kind',
      { DATABASE_URL: 'mysql://x:geheim@y/z' },
      /^DATABASE_URL beginnt nicht mit postgres:\/\/ oder postgresql:\/\/\.\n$/,
    ],
    [
      'no database there',
      { DATABASE_URL: 'postgres://x:geheim@127.0.0.1:1/z' },
      /^Die Datenbank ist nicht erreichbar \(Verbindung abgelehnt\).*\n$/,
    ],
    [
      'TRUST_PROXY',
      { TRUST_PROXY: 'vielleicht' },
      /^TRUST_PROXY ist „vielleicht“, erlaubt sind true und false, oder die Anzahl der Server, 1 bis 9\.\n$/,
    ],
    [
      'BOUNDARY_URL of another kind',
      { BOUNDARY_URL: 'ftp://x:geheim@y/z' },
      /^BOUNDARY_URL ist keine Adresse mit https, http oder file\.\n$/,
    ],
    ['LOG_LEVEL', { LOG_LEVEL: 'laut' }, /^LOG_LEVEL ist „laut“, erlaubt sind fatal, .*\n$/],
  ];
  for (const [name, env, line] of table) {
    it(name, async () => {
      const { code, err } = await runMain({ DATABASE_URL: '', DATA_DIR: dataDir, ...env });
      assert.equal(code, 1);
      assert.match(err, line);
      assert.ok(!err.includes('geheim'), 'a password reached the terminal');
    });
  }

  it('an empty database says what comes first', { skip: !onPostgres && 'the embedded one begins with the demo' }, async () => {
    const site = await makeSite();
    const service = await startProcess(site, { DEFAULT_TENANT: 'AUE' });
    assert.match(
      service.output(),
      /Die Datenbank ist noch leer\..*npm run cli -- catalog import VERZEICHNIS.*DEFAULT_TENANT=AUE/s,
    );
    assert.doesNotMatch(service.output(), /curl/);
    assert.equal(await service.stop(), 0);
    await site.remove();
  });

  it('no right to make extensions: the lines for the administrator, and after them the migration goes through', {
    skip: !onPostgres && 'the embedded one belongs to the service',
  }, async () => {
    const name = `test_${randomBytes(6).toString('hex')}`;
    const { url, server, drop } = await createDatabase(name);
    await server.sql.unsafe(`create role ${name} login password 'x'; alter database ${name} owner to ${name}`).simple();
    const ownUrl = databaseUrlOf(name, name, 'x');
    const site = await makeSiteOn(ownUrl);
    try {
      const refused = await runCli(site, ['migrate']);
      assert.equal(refused.code, 1);
      const [, statements = ''] =
        /^Diese Datenbankrolle darf keine Erweiterungen anlegen\. Als Administrator in dieser Datenbank, und danach noch einmal npm run migrate: (create extension .*;)\n$/.exec(
          refused.err,
        ) ?? [];
      assert.match(statements, /"postgis".*"btree_gist".*"uuid-ossp"/, refused.err);
      const administrator = await openDatabase({ databaseUrl: url, dataDir: '' });
      await administrator.sql.unsafe(statements).simple();
      await administrator.close();
      const done = await runCli(site, ['migrate']);
      assert.equal(done.code, 0, done.err);
      const missing = /Für Auswertungen fehlen Rollen|PostGIS verrät/;
      assert.match(done.err, missing);
      // Told again by whoever asks, and by a start that replaced something; not by each.
      assert.match((await runCli(site, ['migrate'])).err, missing);
      const start = async () => {
        const service = await startProcess(site);
        await service.stop();
        return service.output();
      };
      assert.doesNotMatch(await start(), missing);
      const owner = await openDatabase({ databaseUrl: ownUrl, dataDir: '' });
      await owner.sql`update portal.installation set code_hash = 'x'`;
      await owner.close();
      assert.match(await start(), missing);
    } finally {
      await drop(name);
    }
  });

  it('port taken', { skip: !onPostgres && 'the same line, without the wait for the embedded database' }, async () => {
    const taken = createServer();
    const port = await listenAnywhere(taken);
    const site = await makeSite();
    const { code, err } = await runMain({ ...site.env, PORT: String(port) });
    taken.close();
    await site.remove();
    assert.equal(code, 1);
    assert.match(err, new RegExp(`Port ${port} ist schon belegt`));
  });

  it('--help prints every setting', async () => {
    const { code, out } = await runMain({}, ['--help']);
    assert.equal(code, 0);
    for (const name of ['DATABASE_URL', 'DATA_DIR', 'PORT', 'TRUST_PROXY', 'BOUNDARY_CRON', 'SECRET_KEY'])
      assert.ok(out.includes(name), name);
  });
});
