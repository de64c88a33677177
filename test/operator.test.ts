// The operator's story: an empty database, a catalogue of their own, an account, the service, a sighting.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { sha1OfPlain } from '../src/guard/password.ts';
import { makeCollection, makeFeature } from './support/boundaries.ts';
import { onPostgres } from './support/database.ts';
import { makeDirectory } from './support/end.ts';
import { makeJpeg } from './support/photo.ts';
import { katalog, logIn, makeSite, type RunningService, runCli, runMain, type Site, startProcess } from './support/process.ts';
import { headerOf, toFormData } from './support/service.ts';
import { readZip } from './support/zip.ts';

const eachStarts = !onPostgres && 'the embedded database would be started for each of its commands, which takes half a minute';

describe('from an empty database to the first sighting', () => {
  let site: Site;
  let service: RunningService | undefined;
  before(async () => {
    site = await makeSite();
  });
  after(async () => {
    await service?.stop('SIGKILL');
    await site.remove();
  });

  it('commands before npm run migrate say what to do', {
    skip: !onPostgres && 'the embedded database migrates itself',
  }, async () => {
    const { code, err } = await runCli(site, ['catalog', 'import', katalog]);
    assert.equal(code, 1);
    assert.equal(err, 'Die Datenbank ist nicht erreichbar oder nicht migriert: npm run migrate\n');
  });

  it('commands that reach no database say why', { skip: !onPostgres && 'the embedded database is always there' }, async () => {
    const away = { ...site, env: { ...site.env, DATABASE_URL: 'postgres://p@127.0.0.1:1/p' } };
    const { code, err } = await runCli(away, ['catalog', 'import', katalog]);
    assert.equal(code, 1);
    assert.match(
      err,
      /^Die Datenbank ist nicht erreichbar \(Verbindung abgelehnt\)\. Stimmt DATABASE_URL, und läuft der Server\?\n$/,
    );
  });

  it('migrates, and a second time does nothing', async () => {
    const first = await runCli(site, ['migrate']);
    assert.equal(first.code, 0);
    const again = await runCli(site, ['migrate']);
    assert.equal(again.code, 0);
    assert.match(again.out, /war schon auf dem Stand/);
    // Whoever lost DATABASE_URL on the way is told so, once.
    const made = /^Ohne DATABASE_URL: eine eingebettete Datenbank wird angelegt, in \/.*\.\n/;
    assert.deepEqual([made.test(first.err), made.test(again.err)], [!onPostgres, false]);
  });

  it('a catalogue with errors is refused with all of them by file and line, and nothing is loaded', {
    skip: eachStarts,
  }, async () => {
    const broken = await makeDirectory();
    await cp(katalog, broken, { recursive: true });
    await writeFile(
      join(broken, 'artengruppen.csv'),
      'id,name_deutsch,is_animal,legacy_regional_artengruppe_id\n10,Heuschrecken,ja,\nx,,true,\n',
    );
    await writeFile(
      join(broken, 'arten.csv'),
      'id,eu_guid,gid,name_wissenschaftlich,name_deutsch\n100,,99,A,B\n100,,10,"A\nB",C\n101,,10,C\n',
    );
    const { code, err } = await runCli(site, ['catalog', 'import', broken]);
    assert.equal(code, 1);
    for (const line of [
      'artengruppen.csv:2: is_animal ist „ja“, erlaubt ist true oder false',
      'artengruppen.csv:3: id ist „x“, erlaubt ist eine ganze Zahl ab 0',
      'artengruppen.csv:3: name_deutsch ist leer, erlaubt ist ein Text',
      'arten.csv:2: gid „99“ gibt es nicht in artengruppen.csv',
      'arten.csv:3: id „100“ steht schon in Zeile 2',
      'arten.csv:5: 4 Felder statt 5',
      'arten_mandanten.csv:3: art „200“ gibt es nicht in arten.csv',
    ]) {
      assert.ok(err.includes(`${line}\n`), `${line} is missing in:\n${err}`);
    }
    const missing = await runCli(site, ['catalog', 'import', join(broken, 'nirgends')]);
    assert.equal(missing.code, 1);
    assert.match(missing.err, /Dieses Verzeichnis gibt es nicht/);
  });

  it('imports a catalogue, also a second time', async () => {
    for (let time = 0; time < 2; time++) {
      const { code, out, err } = await runCli(site, ['catalog', 'import', katalog]);
      assert.equal(code, 0, err);
      assert.equal(out, '2 Mandanten, 2 Artengruppen, 2 Arten, 3 Artdefinitionen geladen.\n');
    }
  });

  it('refreshes the boundaries of the catalogue from a source, and says why it does not', { skip: eachStarts }, async () => {
    const dir = await makeDirectory();
    const file = join(dir, 'grenzen.geojson');
    const square = (land: string, x1: number, x2: number) =>
      makeFeature({ land }, [
        [x1, 49],
        [x2, 49],
        [x2, 50],
        [x1, 50],
      ]);
    const write = (border: number) => {
      const features = [square('91', 7, border), square('berg', border, 9), square('x', 1, 2)];
      return writeFile(file, JSON.stringify(makeCollection(features, null)));
    };
    const source = { BOUNDARY_URL: pathToFileURL(file).href, BOUNDARY_KEY: 'land' };
    const refresh = (...more: string[]) => runCli({ ...site, env: { ...site.env, ...source } }, ['grenzen', 'refresh', ...more]);
    await write(8.02);
    const moved = await refresh();
    assert.equal(moved.code, 0, moved.err);
    assert.match(
      moved.out,
      /^Die Grenzen von 2 Mandanten sind neu; 0 Beobachtungen .* 1 Feature der Quelle nennt keinen Mandanten\.\n$/,
    );
    assert.match(moved.err, /^Quelle …\nGebiete …\n/);
    assert.match((await refresh()).out, /^Die Grenzen sind unverändert\./);
    await write(8.2);
    const refused = await refresh();
    assert.equal(refused.code, 1);
    assert.equal(refused.out, '');
    assert.match(refused.err, /\nDie Fläche von AUE änderte sich um 17,6 %, ohne --force sind höchstens 5 % erlaubt\. .*\n$/);
    assert.equal((await refresh('--force')).code, 0);
    await rm(file);
    const missing = await refresh();
    assert.equal(missing.code, 1);
    assert.match(missing.err, /\nDie Datei der Quelle ist nicht lesbar \(es gibt sie nicht\)\.\n$/);
    const without = await runCli(site, ['grenzen', 'refresh']);
    assert.equal(without.code, 1);
    assert.match(without.err, /^BOUNDARY_URL ist nicht gesetzt/);
    // For what follows, the boundaries of the catalogue again.
    assert.equal((await runCli(site, ['catalog', 'import', katalog])).code, 0);
  });

  it('creates accounts, and refuses a name or address that is taken', async () => {
    const names = ['--vorname', 'Jürgen', '--nachname', 'Groß', '--password-stdin'];
    const create = (loginname: string, email: string, ...more: string[]) =>
      runCli(site, ['nutzer', 'create', '--loginname', loginname, '--email', email, ...names, ...more], 'streng geheim\n');
    const made = await create('Jürgen', 'j@example.org', '--rolle', 'administrator');
    assert.equal(made.code, 0, made.err);
    assert.deepEqual(Object.keys(JSON.parse(made.out)), ['id']);
    if (!eachStarts) {
      assert.equal((await create('jÜRGEN ', 'k@example.org')).err, '--loginname ist schon vergeben.\n');
      assert.equal((await create('Karl', 'J@example.org')).err, '--email ist schon vergeben.\n');
      assert.equal(
        (await create('Karl', 'k@example.org', '--artengruppen', '10,11')).err,
        '--artengruppen enthält eine id, die es nicht gibt.\n',
      );
      assert.match(
        (await runCli(site, ['nutzer', 'block', '--loginname', 'niemand'])).err,
        /kein Konto mit dem Anmeldenamen „niemand“/,
      );
    }
    assert.equal(
      (await create('Karl', 'a@b')).err,
      '--email ist „a@b“, erlaubt ist eine E-Mail-Adresse mit einer Domain wie example.org hinter dem @.\n',
    );
    assert.equal((await create('Karl', 'k@example.org', '--rolle', 'chef')).code, 1);
    assert.match(
      (await runCli(site, ['nutzer', 'create', '--loginname', 'x'])).err,
      /^Es fehlen --email, --vorname, --nachname, --password-stdin \(das Passwort kommt von der Standardeingabe\)\.\n$/,
    );
    for (const [args, says] of [
      [['nutzer', 'create', '--quatsch'], /^--quatsch gibt es nicht; Hilfe:/],
      [['nutzer', 'create', '--loginname'], /^--loginname braucht einen Wert/],
      [['grenzen', 'refresh', '--force=ja'], /^--force nimmt keinen Wert\.$/m],
      [['frobnicate'], /^Unbekannter Befehl „frobnicate“\.\n\nAufruf:/],
      [[], /^Der Befehl fehlt\.\n\nAufruf:/],
    ] as const) {
      const { code, out, err } = await runCli(site, [...args]);
      assert.deepEqual([code, out], [1, ''], args.join(' '));
      assert.match(err, says);
    }
  });

  it('does not start for a DEFAULT_TENANT that there is not', async () => {
    const { code, err } = await runMain({ ...site.env, DEFAULT_TENANT: 'XX' });
    assert.equal(code, 1);
    assert.match(err, /^DEFAULT_TENANT ist „XX“, erlaubt ist das Kürzel eines Mandanten: AUE, BERG\.$/m);
  });

  it('serves: log in, report in EPSG:4326, read back in EPSG:25832', async () => {
    service = await startProcess(site);
    assert.match(service.output(), /\n {2}curl -H "Host: aue\.localhost" "http:.*"\n/);
    const { url } = service;
    assert.equal((await fetch(`${url}/health/live`)).status, 200);
    assert.equal((await fetch(`${url}/health/ready`)).status, 200);
    const login = await fetch(`${url}/api/v2/login?loginname=j%C3%BCrgen&password=${sha1OfPlain('streng geheim').toUpperCase()}`);
    const account = (await login.json()) as { token: string; name: string };
    assert.equal(account.name, 'Jürgen Groß');
    const headers = { 'X-Auth-User': headerOf('Jürgen'), 'X-Auth-Token': account.token };
    const body = toFormData({ art: '100', lat: '49.5', lon: '7.5', srid: 'EPSG:4326', bemerkung: 'zirpt', stadium_id: '2' });
    const created = await fetch(`${url}/api/v2/sichtbeobachtungen`, { method: 'POST', headers, body });
    assert.equal(created.status, 201);
    const location = created.headers.get('location');
    assert.ok(location?.startsWith(`${url}/api/v2/sichtbeobachtungen/`), String(location));
    const read = (await (await fetch(String(location), { headers })).json()) as { result: Record<string, unknown>[] };
    const record = read.result[0];
    // 7.5 E 49.5 N, as gdaltransform projects it.
    assert.ok(
      Math.abs(Number(record?.lon) - 391390.555) < 0.01 && Math.abs(Number(record?.lat) - 5484122.006) < 0.01,
      JSON.stringify(record),
    );
    assert.deepEqual(record?.mandanten, [{ kuerzel: 'AUE', name: 'Auenland' }]);
    assert.equal(record?.titel_deutsch, 'Heupferd');
  });

  it('a second process on the embedded database fails with one line', {
    skip: onPostgres && 'PostgreSQL takes many',
  }, async () => {
    const { code, err } = await runCli(site, ['demo', 'load']);
    assert.equal(code, 1);
    assert.match(err, /^Die eingebettete Datenbank in .* wird gerade von einem anderen Prozess benutzt; .*\n$/);
  });

  it('S5.7 SIGTERM lets a request finish and ends with code 0; what was acknowledged is there after the next start', async () => {
    assert.ok(service);
    // Half of a login is on its way when the signal comes.
    const body = `loginname=J%C3%BCrgen&password=${sha1OfPlain('streng geheim')}`;
    const slow = request(`${service.url}/api/v2/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length },
    });
    slow.write(body.slice(0, 10));
    await sleep(300);
    const ended = service.stop('SIGTERM');
    await sleep(300);
    slow.end(body.slice(10));
    const [answer] = (await once(slow, 'response')) as [IncomingMessage];
    assert.equal(answer.statusCode, 200);
    assert.match(await text(answer), /"token"/);
    assert.equal(await ended, 0);
    service = await startProcess(site);
    const headers = await logIn(service, 'Jürgen', 'streng geheim');
    const list = await fetch(`${service.url}/api/v2/sichtbeobachtungen?bereich=persoenlich`, { headers });
    assert.equal(((await list.json()) as { result: unknown[] }).result.length, 1);
    assert.equal(await service.stop(), 0);
  });

  it('takes sightings in bulk for an account: a whole file, or nothing of it', { skip: eachStarts }, async () => {
    const dir = await makeDirectory();
    const file = join(dir, 'alt.csv');
    const load = (loginname: string) => runCli(site, ['sichtbeobachtungen', 'import', file, '--loginname', loginname]);
    await writeFile(file, 'art,lat,lon,datum\n100,5484000,391000,1.5.2020\n200,5484000,391000,2.5.2020\n');
    assert.match((await load('niemand')).err, /niemand/);
    const loaded = await load('Jürgen');
    assert.equal(loaded.code, 0, loaded.err);
    assert.match(loaded.out, /^2 Sichtbeobachtungen geladen\.$/m);
    await writeFile(file, 'art,lat,lon,datum\n100,5484000,391000,3.5.2020\n200,5484000,391000,2.5.2020\n100,x,391000,\n');
    const refused = await load('Jürgen');
    assert.equal(refused.code, 1);
    assert.match(refused.err, /^alt\.csv:3: Diese Beobachtung ist schon gespeichert/m);
    assert.match(refused.err, /^alt\.csv:4: lat ist „x“/m);
    assert.match(refused.err, /^2 Fehler, nichts wurde geladen\.$/m);
    await writeFile(file, 'art,lat,lon,datum\n100,5484000,391000,3.5.2020\n');
    assert.equal((await load('Jürgen')).code, 0);
  });

  it('takes a portal that moves here: its people, their sightings and photos, also a second time', {
    skip: eachStarts,
  }, async () => {
    const dir = await makeDirectory();
    await writeFile(
      join(dir, 'leute.csv'),
      'loginname,email,vorname,nachname,rolle\numzug,u@example.org,U,Z,expert\nzweite,,Z,W,\n',
    );
    await mkdir(join(dir, 'bilder'));
    await writeFile(join(dir, 'bilder', 'eins.jpg'), await makeJpeg({ width: 64, height: 48 }));
    const rows = [
      'art,lat,lon,datum,bereich,status,loginname,experte,quelle_id,foto,wetter',
      '100,5484000,391010,2020-05-01,oeffentlich,freigegeben,umzug,umzug,1,eins.jpg,heiter',
      '200,5484000,391010,2020-05-02,,,zweite,,2,,',
      '200,5484000,391010,2020-05-02,,,zweite,,3,,',
    ];
    await writeFile(join(dir, 'alt.csv'), rows.join('\n'));
    const people = (...more: string[]) => runCli(site, ['nutzer', 'import', join(dir, 'leute.csv'), ...more]);
    assert.equal((await people('--dry-run')).out, '2 Konten in Ordnung, nichts wurde angelegt (--dry-run).\n');
    assert.equal((await people()).out, '2 Konten angelegt.\n');
    assert.equal((await people()).out, '0 Konten angelegt, 2 Konten gab es schon.\n');
    const given = [join(dir, 'alt.csv'), '--quelle', 'alt', '--dateien', join(dir, 'bilder')];
    const sightings = (...more: string[]) => runCli(site, ['sichtbeobachtungen', 'import', ...given, ...more]);
    const refused = await sightings('--errors', join(dir, 'fehler.csv'));
    assert.equal(refused.code, 1);
    assert.match(refused.err, /^alt\.csv:1: Spalte „wetter“ ist unbekannt/m);
    assert.match(await readFile(join(dir, 'fehler.csv'), 'utf8'), /^datei,zeile,fehler\nalt\.csv,1,/);
    const options = ['--ignore-columns', '--skip-duplicates'];
    const checked = await sightings(...options, '--dry-run');
    assert.equal(
      checked.out,
      '2 Sichtbeobachtungen in Ordnung, nichts wurde geladen (--dry-run), 1 Dopplung ausgelassen.\n',
      checked.err,
    );
    const loaded = await sightings(...options);
    assert.equal(loaded.out, '2 Sichtbeobachtungen geladen, 1 Dopplung ausgelassen.\n', loaded.err);
    assert.match(loaded.err, /^Dateien 1 von 1$|Dateien/m);
    assert.equal(
      (await readdir(join(site.env.DATA_DIR ?? '', 'media'), { recursive: true })).filter((name) => name.endsWith('.jpg')).length,
      1,
    );
    const again = await sightings(...options);
    assert.equal(again.out, '0 Sichtbeobachtungen geladen, 2 von dort waren schon da, 1 Dopplung ausgelassen.\n', again.err);
    for (const [command, line] of [
      ['nutzer import', '  loginname * '],
      ['sichtbeobachtungen import', '  quelle_id '],
    ] as const)
      assert.ok((await runCli(site, [...command.split(' '), '--help'])).out.includes(`\n${line}`), command);
  });

  it('says why it does not hand out or erase', {
    skip: eachStarts,
  }, async () => {
    const dir = await makeDirectory();
    const file = join(dir, 'u.zip');
    await writeFile(file, '');
    for (const [args, says] of [
      [['export'], /^Der Anmeldename fehlt: nutzer export NAME \[DATEI\.zip\]$/m],
      [['export', 'umzug', file], /gibt es schon; sie wird nicht überschrieben\.$/m],
      [['export', 'umzug', join(dir, 'nirgends', 'x.zip')], /^Das Verzeichnis von .*x\.zip gibt es nicht\.$/m],
      [
        ['erase', 'Jürgen', '--records', 'keep', '--ja'],
        /^Der letzte aktive Administrator kann nicht gelöscht werden; zuerst braucht ein anderes Konto diese Rolle\.$/m,
      ],
      // Nobody makes files there, not even root.
      [['export', 'umzug', '/sys/x.zip'], /^\/sys\/x\.zip kann nicht geschrieben werden \(E(ACCES|PERM|ROFS)\); erlaubt ist /m],
      [['export', 'niemand'], /^Es gibt kein Konto mit dem Anmeldenamen „niemand“\.$/m],
      [['erase', 'umzug', '--ja'], /^--records fehlt, erlaubt sind keep /m],
      [['erase', 'umzug', '--records', 'alle'], /^--records ist „alle“, erlaubt sind keep .* und delete /m],
      [
        ['erase', 'umzug', '--records', 'delete'],
        /^Das Konto „umzug“ \(U Z\) wird für immer gelöscht: 1 Beobachtung wird gelöscht, 0 bleiben ohne Namen\. Ohne Terminal/m,
      ],
    ] as const) {
      const { code, out, err } = await runCli(site, ['nutzer', ...args]);
      assert.deepEqual([code, out], [1, ''], args.join(' '));
      assert.match(err, says);
    }
    assert.deepEqual(await readdir(dir), ['u.zip']);
  });

  it('blocks an account, lets it in again, and gives it a new password', { skip: eachStarts }, async () => {
    const status = async (password: string) => {
      service = await startProcess(site);
      const login = await fetch(`${service.url}/api/v2/login?loginname=J%C3%BCrgen&password=${sha1OfPlain(password)}`);
      const entered = (await login.text()) !== '';
      await service.stop();
      return entered;
    };
    const last = await runCli(site, ['nutzer', 'block', '--loginname', 'Jürgen']);
    assert.deepEqual([last.code, last.err], [1, 'Der letzte aktive Administrator kann nicht gesperrt werden.\n']);
    const person = ['--email', 'v@example.org', '--vorname', 'V', '--nachname', 'W', '--rolle', 'administrator'];
    const second = ['nutzer', 'create', '--loginname', 'Vertretung', ...person, '--password-stdin'];
    assert.equal((await runCli(site, second, 'auch geheim')).code, 0);
    assert.equal((await runCli(site, ['nutzer', 'block', '--loginname', 'Jürgen'])).code, 0);
    assert.equal(await status('streng geheim'), false);
    assert.equal((await runCli(site, ['nutzer', 'unblock', '--loginname', 'Jürgen'])).code, 0);
    assert.equal((await runCli(site, ['nutzer', 'password', '--loginname', 'Jürgen'], 'neu und lang')).code, 0);
    assert.equal(await status('neu und lang'), true);
  });

  it('hands out all that is stored about an account, and erases it', { skip: eachStarts }, async () => {
    const dir = await makeDirectory();
    const file = join(dir, 'u.zip');
    const made = await runCli(site, ['nutzer', 'export', 'umzug', file]);
    assert.deepEqual([made.code, made.out], [0, `${file}: 1 Beobachtung, 1 Datei.\n`], made.err);
    const files = await readZip(await readFile(file));
    assert.equal(JSON.parse(files.get('konto.json')?.toString() ?? '').email, 'u@example.org');
    assert.equal([...files.keys()].filter((name) => name.startsWith('dateien/')).length, 1);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(dir), ['u.zip']);
    const media = async () =>
      (await readdir(join(site.env.DATA_DIR ?? '', 'media'), { recursive: true })).filter((name) => name.endsWith('.jpg')).length;
    assert.equal(await media(), 1);
    const erased = await runCli(site, ['nutzer', 'erase', 'umzug', '--records', 'delete', '--yes']);
    assert.deepEqual([erased.code, erased.out], [0, 'Das Konto „umzug“ ist gelöscht.\n'], erased.err);
    assert.equal(await media(), 0);
  });
});
