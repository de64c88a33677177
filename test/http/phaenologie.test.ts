// GET /atlas/v1/…: the curve of the year (O2.8), and what the map asks for beside its tiles (O4.1).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { arten } from '../support/catalogue.ts';
import { type Answer, assertProblem, type Json, type RequestOptions, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;
await sql`insert into portal.stadium values (3, 'Puppe', true)`;
await service.makeReleased({ datum: '10.5.2020' });
const eleventh = await service.makeReleased({ datum: '11.5.2020', stadium_id: '1' });
await service.makeReleased({ datum: '20.5.2021', stadium_id: '3' });
await service.makeReleased({ datum: '31.5.2022', stadium_id: '1' });
await service.makeReleased({ datum: '29.2.2024' });
// Its stage does not count for the curve.
await service.makeReleased({ datum: '12.5.2020', stadium_id: '2' });
await service.makeReleased({ datum: '1.1.2020', art: String(arten.tagpfauenauge) });
await service.makeReleased({ datum: '31.12.2020', art: String(arten.uhu) });
// In S, a metre from the border; the centre of its cell lies in S as well.
await service.makeReleased({ datum: '1.12.2020', art: String(arten.uhu), lat: '5530000', lon: '452001' });
// In N, but the centre of its cell is S.
await service.makeReleased({ datum: '11.12.2020', art: String(arten.uhu), lat: '5530000', lon: '451999' });
await service.makeSichtbeobachtung({ datum: '1.6.2020' });
await service.makeSichtbeobachtung({ datum: '2.6.2020', bereich: 'oeffentlich' });

const ask = (path: string, options: RequestOptions = {}): Promise<Answer> =>
  service.request(`/atlas/v1/${path}`, { below: '', ...options });

/** The thirds that are not empty: month/third → count. */
async function curve(query: string): Promise<Record<string, number>> {
  const { status, json, text } = await ask(`phaenologie${query}`);
  assert.equal(status, 200, text);
  return Object.fromEntries(
    json.drittel.filter((d: Json) => d.meldungen > 0).map((d: Json) => [`${d.monat}/${d.drittel}`, d.meldungen]),
  );
}

describe('the curve of the year', () => {
  it('has 36 thirds in order, also those without a record', async () => {
    const { json, headers } = await ask(`phaenologie?art=${arten.gelbflechte}`);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.deepEqual(Object.keys(json), ['drittel']);
    assert.equal(json.drittel.length, 36);
    for (const [index, third] of json.drittel.entries())
      assert.deepEqual(third, { monat: 1 + Math.floor(index / 3), drittel: 1 + (index % 3), meldungen: 0, stadien: {} });
  });

  it('counts days 1 to 10, 11 to 20 and 21 to the end, without records whose stage does not count', async () => {
    assert.deepEqual(await curve(`?art=${arten.amsel}`), { '2/3': 1, '5/1': 1, '5/2': 2, '5/3': 1 });
    const { json } = await ask(`phaenologie?art=${arten.amsel}`);
    assert.deepEqual(json.drittel[13], { monat: 5, drittel: 2, meldungen: 2, stadien: { Imago: 1, Puppe: 1 } });
    assert.deepEqual(json.drittel[12].stadien, {});
  });

  it('filters by group, years and tenant, which is that of the shown place', async () => {
    assert.deepEqual(await curve('?artengruppe_id=2'), { '1/1': 1 });
    assert.deepEqual(await curve(`?art=${arten.amsel}&jahr_von=2021&jahr_bis=2022`), { '5/2': 1, '5/3': 1 });
    assert.deepEqual(await curve(`?art=${arten.amsel}&jahr_von=0&jahr_bis=9999`), await curve(`?art=${arten.amsel}`));
    assert.deepEqual(await curve('?jahr_bis=0'), {});
    assert.deepEqual(await curve(`?art=${arten.uhu}`), { '12/1': 1, '12/2': 1, '12/3': 1 });
    // A masked record is where the centre of its cell is: both at the border are S's, whatever their place.
    assert.deepEqual(await curve(`?art=${arten.uhu}&mandant=N`), { '12/3': 1 });
    assert.deepEqual(await curve(`?art=${arten.uhu}&mandant=s`), { '12/1': 1, '12/2': 1 });
    assert.deepEqual(await curve(`?art=${arten.uhu}&mandant=W`), {});
    assert.deepEqual(await curve('?art=4711'), {});
  });

  it('is a table as CSV', async () => {
    const { text, headers } = await ask(`phaenologie?art=${arten.amsel}&format=csv`);
    assert.match(headers.get('content-type') ?? '', /^text\/csv/);
    const lines = text.trim().split(/\r?\n/);
    assert.equal(lines[0], 'monat,drittel,meldungen');
    assert.equal(lines.length, 37);
    assert.equal(lines[14], '5,2,2');
  });

  it('is a drawing with a title, a description and labels, 320 wide', async () => {
    await sql`update portal.art set name_deutsch = 'A<b> & "c"' where id = ${arten.hornisse}`;
    const { text, headers } = await ask(`phaenologie?art=${arten.amsel}&format=svg`);
    assert.match(headers.get('content-type') ?? '', /^image\/svg\+xml/);
    assert.match(text, /^<svg [^>]*viewBox="0 0 320 200"[^>]*role="img"/);
    assert.match(text, /<title[^>]*>Amsel: Meldungen im Jahreslauf<\/title>/);
    assert.match(text, /<desc[^>]*>5 Meldungen nach Monatsdritteln, die meisten \(2\) Mitte Mai\.<\/desc>/);
    assert.match(text, />Meldungen<\/text>/);
    assert.match(text, />Monat/);
    const escaped = (await ask(`phaenologie?art=${arten.hornisse}&format=svg`)).text;
    assert.ok(!escaped.includes('<b>') && escaped.includes('Keine Meldungen.'));
    assert.match((await ask('phaenologie?format=svg')).text, /<title[^>]*>Meldungen im Jahreslauf</);
  });

  it('refuses what it does not know, with its name', async () => {
    for (const [query, name] of [
      ['mandant=X', 'mandant'],
      ['mandant=', 'mandant'],
      ['art=x', 'art'],
      ['jahr_von=1e3', 'jahr_von'],
      ['format=xml', 'format'],
      ['jahr=2020', 'jahr'],
    ]) {
      assertProblem(await ask(`phaenologie?${query}`), 400, name);
    }
  });

  it('has a tag, and is read at any host', async () => {
    const first = await ask('phaenologie?art=2&format=svg', { host: 'niemand.test' });
    assert.equal(first.status, 200);
    const tag = first.headers.get('etag') ?? '';
    const again = await ask('phaenologie?art=2&format=svg', { host: 'niemand.test', headers: { 'if-none-match': tag } });
    assert.equal(again.status, 304);
  });
});

describe('species by name', () => {
  const names = async (suche: string) =>
    (await ask(`arten?suche=${encodeURIComponent(suche)}`)).json.arten.map((art: Json) => art.name_deutsch);

  it('are found by German and scientific name in any case, those that begin with it first', async () => {
    assert.deepEqual(await names('AMS'), ['Amsel']);
    assert.deepEqual(await names('merula'), ['Amsel']);
    assert.deepEqual(await names('Turdus\u00a0 me\u00adrula '), ['Amsel']);
    const some = await names('u');
    assert.equal(some[0], 'Uhu');
    assert.ok(some.length > 2);
    assert.deepEqual(await names('%'), []);
    assert.deepEqual((await ask('arten?art=1')).json.arten, [
      { id: 1, name_deutsch: 'Uhu', name_wissenschaftlich: 'Bubo bubo', artengruppe: 'Vögel' },
    ]);
    assert.deepEqual((await ask('arten?art=4711')).json.arten, []);
  });
});

describe('records by number', () => {
  it('are those that everybody sees, as everybody sees them', async () => {
    const hidden = await service.makeSichtbeobachtung({ datum: '3.6.2020', bemerkung: 'geheim' });
    const marked = await service.makeReleased({ datum: '4.6.2020', sensibel: 'true', bemerkung: 'am Bach' });
    const { json } = await ask(`sichtbeobachtungen?id=${eleventh},${hidden},${marked},99999999`);
    const [first, second, ...more] = json.sichtbeobachtungen;
    assert.deepEqual([first.id, first.bemerkung, first.unschaerfe_m, more.length], [marked, null, 3536, 0]);
    assert.deepEqual(second, {
      ...{ id: eleventh, art: 2, name_deutsch: 'Amsel', name_wissenschaftlich: 'Turdus merula', datum: '2020-05-11', anzahl: 1 },
      ...{ stadium: 'Imago', aktivitaet: null, bemerkung: null, unschaerfe_m: 0 },
    });
  });

  it('are at most 50, and have to be named', async () => {
    const many = Array.from({ length: 51 }, (_, index) => index).join(',');
    for (const query of ['', '?id=', '?id=x', `?id=${many}`, '?id=1&id=2'])
      assert.equal((await ask(`sichtbeobachtungen${query}`)).status, 400, query);
  });
});
