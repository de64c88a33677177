// The commands about files to publish, as an operator types them.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { onPostgres } from '../support/database.ts';
import { closeAtEnd, makeDirectory } from '../support/end.ts';
import { makeSite, runCli, type Site } from '../support/process.ts';

const dataset = '50c9509d-22c7-4a22-a47d-8c48425ef4a7';

describe('files to publish by command', {
  skip: !onPostgres && 'the embedded database would be started for each of its commands, which takes half a minute',
}, () => {
  let site: Site;
  const asked: { method: string | undefined; url: string | undefined; authorization: string | undefined }[] = [];
  let answer = 204;
  const registry = createServer(({ method, url, headers: { authorization } }, response) => {
    asked.push({ method, url, authorization });
    response.writeHead(answer).end();
  });
  before(async () => {
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    closeAtEnd(async () => void registry.close());
    const { port } = registry.address() as { port: number };
    site = await makeSite();
    Object.assign(site.env, { EXPORT_GBIF_URL: `http://127.0.0.1:${port}`, GBIF_USER: 'amt', GBIF_PASSWORD: 'geheim' });
    assert.equal((await runCli(site, ['migrate'])).code, 0);
    assert.equal((await runCli(site, ['demo', 'load'])).code, 0);
  });
  after(async () => {
    await site.remove();
  });

  it('export writes what a licence allows, and leaves nothing half written', async () => {
    const directory = await makeDirectory();
    const { code, out, err } = await runCli(site, ['export', directory]);
    assert.equal(code, 0, err);
    assert.match(out, /dwca\.zip: \d+ Beobachtungen/);
    assert.deepEqual((await readdir(directory)).sort(), ['he', 'rp']);
    assert.deepEqual((await readdir(join(directory, 'rp'))).sort(), [
      'cube.csv',
      'dwca.zip',
      'sichtbeobachtung.csv',
      'sichtbeobachtung.geojson',
      'sichtbeobachtung.gpkg',
    ]);
    assert.ok(!(await readdir(join(directory, 'he'))).includes('dwca.zip'), 'no archive under a licence that GBIF does not take');
  });

  it('a format that a licence does not allow is left out, and the others are written', async () => {
    const directory = await makeDirectory();
    const { code, err } = await runCli(site, ['export', directory, '--format', 'dwca']);
    assert.equal(code, 0, err);
    assert.deepEqual(await readdir(directory), ['rp']);
    assert.match(err, /Hinweis: HE: GBIF nimmt Archive mit der Lizenz dl-de\/by-2-0 nicht an/);
  });

  it('a tenant without a licence is told so', async () => {
    const { code, err } = await runCli(site, ['export', await makeDirectory(), '--mandant', 'BE']);
    assert.equal(code, 1);
    assert.match(err, /BE hat keine Lizenz, ohne sie wird nichts veröffentlicht/);
  });

  it('GBIF is asked to fetch a new archive; that it refuses fails no file', async () => {
    const publish = () => runCli(site, ['export', 'publish', '--mandant', 'RP', '--gbif', dataset]);
    assert.match((await publish()).out, /GBIF ist gebeten, den Datensatz abzurufen\./);
    const authorization = `Basic ${Buffer.from('amt:geheim').toString('base64')}`;
    assert.deepEqual(asked, [{ method: 'POST', url: `/dataset/${dataset}/crawl`, authorization }]);
    answer = 401;
    const { code, out, err } = await publish();
    assert.equal(code, 1);
    assert.match(out, /Veröffentlicht: RP\./);
    assert.match(err, /GBIF lehnt GBIF_USER und GBIF_PASSWORD für diesen Datensatz ab \(401\)\./);
    assert.doesNotMatch(out + err, /geheim/);
  });

  it('O5.8 export check compares with what is published', async () => {
    const { code, out } = await runCli(site, ['export', 'check', '--mandant', 'RP']);
    assert.equal(code, 0);
    assert.match(out, /^RP: \d+ Beobachtungen in den Dateien; 0 kommen, 0 gehen, 0 wechseln den Ort\.$/m);
  });
});
