// GET /pruefung/v1/hinweise: what would be odd about a report (O6.3), from what everybody may know.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { countPruefung } from '../../src/db/pruefung.ts';
import { arten } from '../support/catalogue.ts';
import { setSensibel } from '../support/records.ts';
import { assertProblem, type RequestOptions, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;

/** Stores released records within 20 km of 420 000 5 530 000, from 1 May to 20 June. */
const store = (art: number, count: number, sensibel = false) => sql`
  insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, sensibel, bereich, status)
  select (select min(u.id) from portal.nutzer u), ${art}, st_setsrid(st_makepoint(410000 + 500 * n + ${Number(sensibel)}::integer, 5525000 + 250 * n), 25832),
    date '2020-05-01' + n * 51 / 40, ${sensibel}, 'oeffentlich', 'freigegeben'
  from generate_series(0, ${count - 1}::integer) n`;

const ask = (query: Record<string, string>, options: RequestOptions = {}) =>
  service.request(`/pruefung/v1/hinweise?${new URLSearchParams(query)}`, { below: '', ...options });
const usual = { art: String(arten.amsel), lat: '5530000', lon: '420000', datum: '20.05.2021' };

describe('hints before reporting', () => {
  before(async () => {
    await store(arten.amsel, 40);
    await store(arten.hornisse, 19);
    await store(arten.tagpfauenauge, 19);
    await store(arten.tagpfauenauge, 40, true);
    await countPruefung(sql);
  });

  const cases: [name: string, query: Record<string, string>, gives: object[]][] = [
    ['none', {}, []],
    [
      '63 km away, on 3 January',
      { lon: '493000', datum: '3.1.2021' },
      [
        { code: 'entfernung', text: '63 km vom nächsten bekannten Vorkommen entfernt', werte: { km: 63 } },
        { code: 'jahreszeit', text: 'Zu dieser Jahreszeit (Anfang Januar) noch nie gemeldet', werte: { anteil: 0 } },
        { code: 'erste_im_mandant', text: 'Erste Meldung dieser Art in Südland', werte: { mandanten: ['Südland'] } },
      ],
    ],
    ['5 km away, on 25 June', { lat: '5534750', lon: '434500', datum: '25.6.2021' }, []],
    ['in degrees', { lat: '49.92', lon: '7.89', srid: 'EPSG:4326' }, []],
    ['empty fields', { srid: '', anzahl: '', stadium_id: '', aktivitaet_id: '' }, []],
    [
      'a count',
      { anzahl: '2' },
      [{ code: 'anzahl_hoch', text: '2 Individuen: 99 % der Meldungen nennen höchstens 1', werte: { grenze: 1 } }],
    ],
    ...[arten.hornisse, arten.tagpfauenauge].map((art): (typeof cases)[number] => [
      `19 that nobody protects, of species ${art}`,
      { art: String(art) },
      [
        {
          code: 'zu_wenige_vergleiche',
          text: 'Zu wenige Vergleiche (freigegebene Meldungen dieser Art: 19)',
          werte: { meldungen: 19 },
        },
      ],
    ]),
  ];
  for (const [name, query, gruende] of cases)
    it(name, async () => {
      const { status, headers, json, text } = await ask({ ...usual, ...query });
      assert.deepEqual([status, headers.get('content-type')], [200, 'application/json; charset=utf-8'], text);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.deepEqual(json, { gruende });
    });

  it('are the same whoever asks', async () => {
    const query = { ...usual, art: String(arten.tagpfauenauge) };
    const { text } = await ask(query);
    for (const as of ['melder', 'expertin', 'admin'] as const) assert.equal((await ask(query, { as })).text, text);
  });

  it('today, where no day is given', async () => {
    const { datum, ...query } = usual;
    assert.equal((await ask(query)).status, 200);
  });

  const wrong: [parameter: string, query: Record<string, string>][] = [
    ['art', { art: 'x' }],
    ['art', { art: '4711' }],
    ['art', { art: String(arten.gelbflechte) }],
    ['lat', { lat: '' }],
    ['lat', { lat: '10' }],
    ['lon', { lon: 'x' }],
    ['srid', { srid: 'EPSG:31467' }],
    ['datum', { datum: '2021-05-20' }],
    ['datum', { datum: '1.1.1799' }],
    ['datum', { datum: '1.1.2999' }],
    ['anzahl', { anzahl: '0' }],
    ['anzahl', { anzahl: '20001' }],
    ['stadium_id', { stadium_id: '4711' }],
    ['aktivitaet_id', { aktivitaet_id: '4711' }],
    ['sensibel', { sensibel: 'true' }],
  ];
  for (const [parameter, query] of wrong)
    it(`refuse ${JSON.stringify(query)}`, async () => {
      const host = query.art === String(arten.gelbflechte) ? 's.test' : 'n.test';
      assertProblem(await ask({ ...usual, ...query }, { host }), 400, parameter);
    });

  it('need species and place, and a host', async () => {
    for (const name of ['art', 'lat', 'lon'] as const) {
      const { [name]: _, ...query } = usual;
      assertProblem(await ask(query), 400, name);
    }
    assertProblem(await ask(usual, { host: 'niemand.test' }), 421);
    assertProblem(await ask(usual, { method: 'POST' }), 405);
  });

  it('tell nothing of a place from the moment on in which it is hidden', async () => {
    const query = { ...usual, lon: '493000', datum: '20.5.2021' };
    assert.notEqual((await ask(query)).json.gruende.length, 0);
    await setSensibel(sql, 'W', arten.amsel, true);
    assert.deepEqual((await ask(query)).json, { gruende: [] });
    await countPruefung(sql);
    assert.deepEqual((await ask(query)).json.gruende[0].werte, { meldungen: 0 });
  });
});

it('counts and reasons are nobody else’s to read', async (t) => {
  for (const role of ['gis_public', 'gis_exact', 'portal_dienst']) {
    const [there] = await sql`select to_regrole(${role}) is not null as there`;
    if (!there?.there) return t.skip('no roles');
    for (const table of ['pruef_zahl', 'pruef_zahl_offen', 'pruefgrund', 'pruefgrund_offen', 'pruefregel']) {
      const [row] = await sql`select has_table_privilege(${role}, ${`portal.${table}`}, 'select') as may`;
      assert.equal(row?.may, false, `${role} ${table}`);
    }
  }
});
