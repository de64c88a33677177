// A catalogue goes out and comes in again: an empty one to fill in, and the one that is there.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { onPostgres } from '../support/database.ts';
import { makeSite, runCli, type Site } from '../support/process.ts';

const katalog = fileURLToPath(new URL('../support/katalog', import.meta.url));

const skip = !onPostgres && 'the embedded database would be started for each of its commands, which takes a minute';

describe('a catalogue', { skip }, () => {
  let dir: string;
  const sites: Site[] = [];
  before(async () => {
    if (skip) return;
    dir = await mkdtemp(join(tmpdir(), 'katalog-'));
    for (let n = 0; n < 2; n++) sites.push(await makeSite({ isMigrated: true }));
  });
  after(async () => {
    if (skip) return;
    for (const site of sites) await site.remove();
    await rm(dir, { recursive: true });
  });
  const run = async (site: Site | undefined, ...args: string[]) => {
    const outcome = await runCli(site as Site, args);
    assert.equal(outcome.code, 0, outcome.err);
    return outcome;
  };
  const readAll = async (path: string) =>
    Object.fromEntries(
      await Promise.all(
        (await readdir(path)).sort().map(async (name) => [name, await readFile(join(path, name), 'utf8')] as const),
      ),
    );

  it('gives the same bytes when it is exported, imported elsewhere, and exported there', async () => {
    const [one, two] = sites;
    const [first, second] = [join(dir, 'eins'), join(dir, 'zwei')];
    await run(one, 'catalog', 'import', katalog);
    await run(one, 'catalog', 'export', first);
    await run(two, 'catalog', 'import', first);
    await run(two, 'catalog', 'export', second);
    const files = await readAll(first);
    assert.deepEqual(await readAll(second), files);
    assert.match(files['arten.csv'] ?? '', /"Gärten, Äcker\nund Gebüsch"/);
    assert.match(files['mandanten.geojson'] ?? '', /"kuerzel":"AUE"/);
    // What is there is not overwritten.
    const again = await runCli(one as Site, ['catalog', 'export', first]);
    assert.equal(again.code, 1);
    assert.match(again.err, /nicht leer; überschrieben wird nichts\n1 Fehler, nichts wurde geschrieben\.\n$/);
  });

  it('begins with a template that may be imported as it is, and filled in as the help says', async () => {
    const [one] = sites;
    const template = join(dir, 'vorlage');
    await run(one, 'catalog', 'template', template);
    const { err, out } = await run(one, 'catalog', 'import', template);
    assert.match(err, /mandanten\.geojson: die Datei enthält keinen Mandanten/);
    assert.match(out, /^0 Mandanten, 0 Artengruppen/);

    const help = (await run(one, 'catalog', 'import', '--help')).out;
    const examples: Record<string, string> = {};
    for (const block of help.trimEnd().split('\n\n')) {
      const [, file] = /^(\w+\.csv)/.exec(block) ?? [];
      if (file) examples[file] = block.split('\n').at(-1)?.trim() ?? '';
    }
    const box = {
      type: 'Polygon',
      coordinates: [
        [
          [8, 49.5],
          [8.5, 49.5],
          [8.5, 50],
          [8, 50],
          [8, 49.5],
        ],
      ],
    };
    const properties = JSON.parse(/"properties":(\{.*?\}),"geometry"/.exec(help)?.[1] ?? '');
    const tenant = { type: 'Feature', properties, geometry: box };
    await writeFile(join(template, 'mandanten.geojson'), JSON.stringify({ type: 'FeatureCollection', features: [tenant] }));
    const header = Object.entries(await readAll(template)).filter(([file]) => file.endsWith('.csv'));
    assert.deepEqual(
      Object.keys(examples).sort(),
      header.map(([file]) => file),
    );
    for (const [file, names] of header) {
      const example = examples[file] ?? '';
      const missing = names.trim().split(',').length - example.split(',').length;
      const second = file === 'arten.csv' ? `106${example.slice(3)}${','.repeat(missing)}\n` : '';
      await writeFile(join(template, file), `${names}${example}${','.repeat(missing)}\n${second}`);
    }
    const filled = await run(one, 'catalog', 'import', template, '--force');
    assert.match(filled.out, /^1 Mandant, 1 Artengruppe, 2 Arten, 1 Artdefinition geladen/);
  });
});
