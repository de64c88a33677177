// The demo as clients of the former portal look at it: the R package rartenfinder asks for a kite of 2017, in a box and without.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { onPostgres } from '../support/database.ts';
import { makeSite, type RunningService, runCli, type Site, startProcess } from '../support/process.ts';

interface Shown {
  lon: number;
  titel_deutsch: string | null;
  titel_wissenschaftlich: string;
  legacy_regional_art_id: number;
}

describe('the demo', () => {
  let site: Site;
  let service: RunningService;
  before(async () => {
    site = await makeSite();
    if (onPostgres) for (const args of [['migrate'], ['demo', 'load']]) assert.equal((await runCli(site, args)).code, 0);
    service = await startProcess(site);
  });
  after(async () => {
    await service?.stop('SIGKILL');
    await site.remove();
  });
  const read = async (path: string): Promise<Shown[]> => {
    const answer = await fetch(`${service.url.replace('127.0.0.1', 'localhost')}/api/v2${path}`);
    const body = (await answer.json()) as { result: Shown[] };
    assert.equal(answer.status, 200, JSON.stringify(body));
    return body.result;
  };

  it('has a red kite of 2017, also in the box by Neustadt an der Weinstraße', async () => {
    const filter = '/sichtbeobachtungen?limit=1000&bereich=oeffentlich&titel_wissenschaftlich=milvus%20milvus&jahr=2017';
    const all = await read(filter);
    const inBox = await read(`${filter}&bbox=405188,5474383,415905,5480017`);
    assert.ok(inBox.length > 0 && all.length > inBox.length);
    assert.ok(inBox.every(({ lon }) => lon > 405188));
  });

  it('has a moth of 2017 that has no German name', async () => {
    const [moth] = await read('/sichtbeobachtungen?titel_wissenschaftlich=udea%25&jahr=2017');
    assert.deepEqual([moth?.titel_deutsch, moth?.titel_wissenschaftlich], [null, 'Udea ferrugalis']);
  });

  it('finds species of Rheinland-Pfalz by their own number as by their former one', async () => {
    for (const name of ['legacy_regional_art_id', 'lanis_rlp_osiris_art_id']) {
      const found = await read(`/sichtbeobachtungen?${name}=105&jahr=2017`);
      assert.deepEqual(new Set(found.map((each) => each.titel_wissenschaftlich)), new Set(['Milvus milvus']), name);
    }
  });
});
