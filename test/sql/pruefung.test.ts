// O6.1, O6.2: counts by species for the review agree with counting the records, after every kind of change; and what they say of a record.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { completePruefung, countPruefung, renewPruefgruende } from '../../src/db/pruefung.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres, openTestDatabase } from '../support/database.ts';
import { makeDice } from '../support/dice.ts';
import { setSensibel, takeBack } from '../support/records.ts';
import type { Json } from '../support/service.ts';

const { sql, connect } = await openTestDatabase();
await sql`insert into portal.stadium values (3, 'Puppe', true)`;
await sql`insert into portal.verwechslung_art values (${arten.rotmilan}, ${arten.wanderfalke}), (${arten.rotmilan}, ${arten.uhu})`;

interface Meldung {
  art: number;
  x: number;
  y: number;
  datum: string;
  anzahl?: number;
  stadium_id?: number | null;
  aktivitaet_id?: number | null;
  sensibel?: boolean;
  bereich?: string;
  status?: string;
}

/** Stores records, released unless said otherwise. */
async function store(meldungen: Meldung[]): Promise<number[]> {
  const rows = meldungen.map((meldung) => ({
    ...{ anzahl: 1, stadium_id: null, aktivitaet_id: null, sensibel: false, bereich: 'oeffentlich', status: 'freigegeben' },
    ...meldung,
  }));
  const stored = await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, anzahl, stadium_id, aktivitaet_id, sensibel, bereich, status)
    select (select min(u.id) from portal.nutzer u), r.art, st_setsrid(st_makepoint(r.x, r.y), 25832), r.datum, r.anzahl, r.stadium_id,
      r.aktivitaet_id, r.sensibel, r.bereich, r.status
    from json_to_recordset(${JSON.stringify(rows)}::text::json) r (art integer, x float8, y float8, datum date, anzahl integer,
      stadium_id integer, aktivitaet_id integer, sensibel boolean, bereich portal.bereich, status portal.status)
    returning id`;
  return stored.map((row) => Number(row.id));
}

async function clear(): Promise<void> {
  await sql`delete from portal.sichtbeobachtung`;
  await sql`delete from portal.pruefregel`;
  await sql`update portal.art_mandant set sensibel = false where art = ${arten.amsel} and sensibel`;
  await countPruefung(sql);
}

const readCounts = () => sql`select art, merkmal, x, y, meldungen, offene from portal.pruef_zahl order by art, merkmal, x, y`;

/** The same by counting the records, written another way. */
const countNaively = () => sql`
  with s as (
    select s.*, extract(month from datum)::integer * 3 - 3 + case when extract(day from datum) <= 10 then 0 when extract(day from datum) <= 20 then 1 else 2 end as d
    from portal.sichtbeobachtung s where bereich = 'oeffentlich' and status = 'freigegeben'
  )
  select art, merkmal::portal.merkmal, x, y, count(*)::integer as meldungen, (count(*) filter (where schutz = 0))::integer as offene
  from (
    select art, schutz, 'zelle' as merkmal, floor(st_x(point) / 5000)::integer as x, floor(st_y(point) / 5000)::integer as y from s
    union all select art, schutz, 'drittel', d, 0 from s
    union all select art, schutz, 'anzahl', anzahl, 0 from s
    union all select art, schutz, 'stadium', stadium_id, d from s where stadium_id is not null
    union all select art, schutz, 'aktivitaet', aktivitaet_id, d from s where aktivitaet_id is not null
  ) k group by 1, 2, 3, 4 order by 1, 2, 3, 4`;

async function assertCounted(what: string): Promise<void> {
  const { pending } = (await sql`select count(*)::integer as pending from portal.pruef_zahl_offen`)[0] ?? {};
  assert.equal(pending, 0, what);
  assert.deepEqual([...(await readCounts())], [...(await countNaively())], what);
}

describe('counts by species', () => {
  before(clear);

  it('follow releases, changes, moves, marks, other species, withdrawals and deletions', async () => {
    const dice = makeDice(Number(process.env.EIGENSCHAFT_SAAT ?? 51));
    const day = () =>
      `20${10 + dice.below(10)}-${String(1 + dice.below(12)).padStart(2, '0')}-${String(1 + dice.below(28)).padStart(2, '0')}`;
    const place = () => ({ x: 400000 + dice.below(60000), y: 5520000 + dice.below(20000) });
    const art = () => dice.pick([arten.uhu, arten.amsel, arten.wanderfalke, arten.rotmilan]);
    const maybe = (max: number) => dice.pick([null, 1 + dice.below(max)]);
    let ids: number[] = [];
    for (let round = 0; round < (onPostgres ? 25 : 10); round++) {
      const made = Array.from({ length: 8 }, () => ({
        ...{ art: art(), ...place(), datum: day(), anzahl: 1 + dice.below(5), stadium_id: maybe(3), aktivitaet_id: maybe(2) },
        ...{ sensibel: dice.chance(0.2), status: dice.pick(['freigegeben', 'freigegeben', 'pruefung', 'hinweis']) },
      }));
      ids.push(...(await store(made)));
      const some = () => `{${ids.filter(() => dice.chance(0.2))}}`;
      const { x, y } = place();
      await sql`update portal.sichtbeobachtung set status = 'freigegeben' where id = any (${some()}::bigint[])`;
      await sql`update portal.sichtbeobachtung set point = st_setsrid(st_makepoint(${x} + id % 7, ${y} + id % 11), 25832) where id = any (${some()}::bigint[])`;
      await sql`update portal.sichtbeobachtung set anzahl = anzahl % 5 + 1, stadium_id = ${maybe(3)}, datum = datum + 9 where id = any (${some()}::bigint[])`;
      await sql`update portal.sichtbeobachtung set art = ${art()}, sensibel = not sensibel where id = any (${some()}::bigint[])`;
      await sql`update portal.sichtbeobachtung set status = 'pruefung' where id = any (${some()}::bigint[])`;
      await setSensibel(sql, dice.pick(['N', 'S', 'W']), art(), dice.chance(0.5));
      if (dice.chance(0.3)) await countPruefung(sql);
      const gone =
        await sql`delete from portal.sichtbeobachtung where id = any (${some()}::bigint[]) and id % 3 = 0 returning id`;
      ids = ids.filter((id) => !gone.some((row) => Number(row.id) === id));
    }
    // In small steps too.
    await sql`select api.set_pruefung(row_limit => 3)`;
    await countPruefung(sql);
    await assertCounted('after random changes');
    const kept = [...(await readCounts())];
    await sql`select api.set_pruef_zahl_aller()`;
    assert.deepEqual([...(await readCounts())], kept, 'counted anew');
  });

  it('leave out what was taken back', async () => {
    await takeBack(sql, (tx) => tx`update portal.sichtbeobachtung set anzahl = 9`);
    await countPruefung(sql);
    await assertCounted('after what was taken back');
  });

  it('are right whoever writes while all is counted anew', { skip: !onPostgres }, async () => {
    let isWriting = true;
    const writers = [1, 2, 3].map(async (n) => {
      const client = connect();
      for (let round = 0; round < 40; round++) {
        await client`update portal.sichtbeobachtung set anzahl = 1 + (anzahl + ${n}) % 7 where id % 3 = ${n - 1}`;
        await client`update portal.sichtbeobachtung set status = case when id % 2 = ${round % 2} then 'freigegeben' else 'pruefung' end::portal.status where id % 3 = ${n - 1} and id % 5 = 0`;
      }
      await client.end();
    });
    const counter = connect();
    const counting = (async () => {
      while (isWriting) {
        await counter`select api.set_pruef_zahl_aller()`;
        await countPruefung(counter);
      }
      await counter.end();
    })();
    await Promise.all(writers);
    isWriting = false;
    await counting;
    await countPruefung(sql);
    await assertCounted('after writers');
  });

  it('are made for a database that had records before it had counts', async () => {
    await sql`delete from portal.pruef_zahl`;
    await sql`update portal.installation set has_pruef_zahl = false`;
    await sql`update portal.sichtbeobachtung set anzahl = 3 where art = ${arten.amsel}`;
    await countPruefung(sql);
    assert.equal((await readCounts()).length, 0, 'nothing is added to what is not there');
    const told: string[] = [];
    await completePruefung(sql, (line) => told.push(line));
    await completePruefung(sql, (line) => told.push(line));
    assert.equal(told.length, 1);
    await assertCounted('completed');
  });
});

/** 40 records within 20 km of 420 000 5 530 000, 1 May to 20 June. */
const forty = (art: number, more: (n: number) => Partial<Meldung> = () => ({})): Meldung[] =>
  Array.from({ length: 40 }, (_, n) => ({
    ...{ art, x: 410000 + 500 * n, y: 5525000 + 250 * n },
    datum: new Date(Date.UTC(2020, 4, 1 + Math.floor((n * 51) / 40))).toISOString().slice(0, 10),
    ...more(n),
  }));
const usual = { art: arten.amsel as number, x: 420000, y: 5530000, datum: '2021-05-20' };

async function askFor(meldung: Meldung, { offen = false, mandanten = ['N'], gezaehlt = false } = {}): Promise<Json[]> {
  const { art, x, y, datum, anzahl = 1, stadium_id = null, aktivitaet_id = null } = meldung;
  return sql`
    select code, text, werte, gewicht from private.list_pruefgrund(
      ${art}::integer, st_setsrid(st_makepoint(${x}::float8, ${y}::float8), 25832),
      array(select id from portal.mandant where kuerzel = any (${`{${mandanten}}`}::text[])), ${datum}::date, ${anzahl}::integer,
      ${stadium_id}::integer, ${aktivitaet_id}::integer, ${offen}::boolean, ${gezaehlt}::boolean)`;
}

describe('reasons', () => {
  before(async () => {
    await clear();
    await store(
      forty(arten.amsel, (n) => ({ anzahl: 1 + (n % 3), stadium_id: n < 20 ? 1 : null, aktivitaet_id: n < 20 ? 1 : null })),
    );
    await store(forty(arten.rotmilan, () => ({ x: 405000, y: 5510000 })));
    await store([{ ...usual, art: arten.rotmilan, x: 462000, y: 5536000, datum: '2020-05-20' }]);
    // In the first third of the year, and one in June.
    await store(
      forty(arten.tagpfauenauge, (n) => ({
        datum: n === 0 ? '2020-06-05' : `2020-01-0${1 + (n % 9)}`,
        x: 420000 + n,
        stadium_id: n > 20 ? 1 : null,
      })),
    );
    await store(forty(arten.hornisse).slice(0, 19));
    await store([{ ...usual, art: arten.hornisse, status: 'pruefung' }]);
    // Half of them marked, far from the others.
    await store(
      forty(arten.gelbflechte, (n) => ({
        sensibel: n < 20,
        x: n < 20 ? 440000 + n : 410000 + n,
        y: 5530000,
        datum: n < 20 ? '2020-09-05' : '2020-05-05',
      })),
    );
    await countPruefung(sql);
  });

  const cases: { name: string; of: Partial<Meldung>; how?: Parameters<typeof askFor>[1]; gives: Json[] }[] = [
    { name: 'what is usual has none', of: {}, gives: [] },
    {
      name: '63 km away, on 3 January',
      of: { x: 493000, datum: '2021-01-03' },
      gives: [
        ['entfernung', '63 km vom nächsten bekannten Vorkommen entfernt', { km: 63 }],
        ['jahreszeit', 'Zu dieser Jahreszeit (Anfang Januar) noch nie gemeldet', { anteil: 0 }],
      ],
    },
    { name: '5 km away, on 25 June', of: { x: 434500, y: 5534750, datum: '2021-06-25' }, gives: [] },
    {
      name: 'two cells away',
      of: { x: 436000, y: 5534750 },
      gives: [
        [
          'erste_in_zelle',
          'Erste Meldung in dieser Rasterzelle und denen daneben, 6 km vom nächsten bekannten Vorkommen',
          { km: 6 },
        ],
      ],
    },
    {
      name: 'with 19 released ones nothing is judged',
      of: { art: arten.hornisse, x: 493000, datum: '2021-01-03', anzahl: 500, stadium_id: 2 },
      how: { mandanten: ['S'] },
      gives: [['zu_wenige_vergleiche', 'Zu wenige Vergleiche (freigegebene Meldungen dieser Art: 19)', { meldungen: 19 }]],
    },
    {
      name: 'first in a tenant',
      of: { x: 453000 },
      how: { mandanten: ['N', 'S'] },
      gives: [
        ['entfernung', '23 km vom nächsten bekannten Vorkommen entfernt', { km: 23 }],
        ['erste_im_mandant', 'Erste Meldung dieser Art in Südland', { mandanten: ['Südland'] }],
      ],
    },
    {
      name: '28 December is near 3 January',
      of: { art: arten.tagpfauenauge, datum: '2021-12-28' },
      gives: [],
    },
    {
      name: 'a season of one in forty is none to wonder about',
      of: { art: arten.tagpfauenauge, datum: '2021-06-05' },
      gives: [],
    },
    {
      name: 'but the one itself does not count',
      of: { art: arten.tagpfauenauge, datum: '2020-06-05' },
      how: { gezaehlt: true },
      gives: [['jahreszeit', 'Zu dieser Jahreszeit (Anfang Juni) noch nie gemeldet', { anteil: 0 }]],
    },
    { name: 'as many as many', of: { anzahl: 3 }, gives: [] },
    {
      name: 'one more than ever',
      of: { anzahl: 4 },
      gives: [['anzahl_hoch', '4 Individuen: 99 % der Meldungen nennen höchstens 3', { grenze: 3 }]],
    },
    { name: 'a stage of that time', of: { stadium_id: 1, aktivitaet_id: 1 }, gives: [] },
    {
      name: 'a stage and an activity that were never seen then',
      of: { stadium_id: 3, aktivitaet_id: 2 },
      gives: [
        ['stadium_unmoeglich', 'Stadium „Puppe“ zu dieser Jahreszeit (Mitte Mai) noch nie gemeldet', { stadium_id: 3 }],
        ['stadium_unmoeglich', 'Aktivität „fliegend“ zu dieser Jahreszeit (Mitte Mai) noch nie gemeldet', { aktivitaet_id: 2 }],
      ],
    },
    {
      name: 'a stage where few records have any',
      of: { art: arten.tagpfauenauge, datum: '2021-01-05', stadium_id: 2 },
      gives: [],
    },
    {
      name: 'what the catalogue says is confused with it',
      of: { art: arten.rotmilan, x: 405000, y: 5510000 },
      gives: [['verwechslung', 'Wird leicht verwechselt mit: Uhu, Wanderfalke', { arten: ['Uhu', 'Wanderfalke'] }]],
    },
    {
      name: 'the nearest cell is meant, not one around the corner',
      of: { art: arten.rotmilan, x: 435100, y: 5510100 },
      gives: [
        ['entfernung', '25 km vom nächsten bekannten Vorkommen entfernt', { km: 25 }],
        ['verwechslung', 'Wird leicht verwechselt mit: Uhu, Wanderfalke', { arten: ['Uhu', 'Wanderfalke'] }],
      ],
    },
    { name: 'near protected ones, for who is in charge', of: { art: arten.gelbflechte, x: 440500 }, gives: [] },
    {
      name: 'near protected ones, for everybody',
      of: { art: arten.gelbflechte, x: 440500 },
      how: { offen: true },
      gives: [['entfernung', '26 km vom nächsten bekannten Vorkommen entfernt', { km: 26 }]],
    },
    {
      name: 'at the time of protected ones, for everybody',
      of: { art: arten.gelbflechte, x: 410000, datum: '2021-09-05' },
      how: { offen: true },
      gives: [['jahreszeit', 'Zu dieser Jahreszeit (Anfang September) noch nie gemeldet', { anteil: 0 }]],
    },
  ];
  for (const { name, of, how, gives } of cases)
    it(name, async () => {
      const gruende = await askFor({ ...usual, ...of }, how);
      assert.deepEqual(
        gruende.map(({ code, text, werte }) => [code, text, werte]),
        gives,
      );
    });

  it('of a released record are those that it would have had', async () => {
    const alone = { ...usual, x: 494500, datum: '2021-11-03', anzahl: 7, stadium_id: 1 };
    const expected = await askFor(alone, { mandanten: ['S'] });
    assert.deepEqual(
      expected.map(({ code }) => code),
      ['entfernung', 'erste_im_mandant', 'jahreszeit', 'anzahl_hoch'],
    );
    const [id] = await store([alone]);
    await countPruefung(sql);
    assert.deepEqual(await askFor(alone, { mandanten: ['S'], gezaehlt: true }), expected);
    await sql`delete from portal.sichtbeobachtung where id = ${id ?? 0}`;
    await countPruefung(sql);
  });
});

describe('rules of experts', () => {
  before(async () => {
    await clear();
    await store(forty(arten.amsel));
    await countPruefung(sql);
  });
  const setRules = async (...rules: Record<string, Json>[]) => {
    await sql`delete from portal.pruefregel`;
    for (const rule of rules)
      await sql`
        insert into portal.pruefregel (mandant_id, art, von, bis, anzahl_max, gebiet)
        select (select m.id from portal.mandant m where m.kuerzel = ${rule.mandant ?? ''}), ${arten.amsel}, ${rule.von ?? null}, ${rule.bis ?? null},
          ${rule.anzahl_max ?? null}, st_geomfromtext(${rule.gebiet ?? null}::text, 4326)`;
  };
  const here = 'POLYGON((7.5 49.5,8.5 49.5,8.5 50.5,7.5 50.5,7.5 49.5))';
  const there = 'POLYGON((10 49.5,11 49.5,11 50.5,10 50.5,10 49.5))';
  const outside = ['regel', 'Außerhalb des Gebiets, in dem die Art nach ihrer Regel zu erwarten ist', { gebiet: false }];
  const winter = [
    'regel',
    'Nach der Regel für diese Art nur von Ende November bis Mitte Februar zu erwarten',
    { von: '11-3', bis: '02-2' },
  ];
  const odd = { ...usual, x: 493000, datum: '2021-01-03', anzahl: 9 };
  const learned = ['entfernung', 'jahreszeit', 'anzahl_hoch'];

  const cases: { name: string; rules: Record<string, Json>[]; of: Meldung; gives: Json[]; codes: string[] }[] = [
    { name: 'none', rules: [], of: odd, gives: [], codes: learned },
    { name: 'that say nothing', rules: [{}], of: odd, gives: [], codes: learned },
    {
      name: 'of the season, over the end of the year, inside',
      rules: [{ von: '11-3', bis: '02-2' }],
      of: odd,
      gives: [],
      codes: ['entfernung', 'anzahl_hoch'],
    },
    {
      name: 'of the season, on its last day',
      rules: [{ von: '11-3', bis: '02-2' }],
      of: { ...usual, datum: '2021-02-20' },
      gives: [],
      codes: [],
    },
    {
      name: 'of the season, a day later',
      rules: [{ von: '11-3', bis: '02-2' }],
      of: { ...usual, datum: '2021-02-21' },
      gives: [winter],
      codes: ['regel'],
    },
    {
      name: 'of the season, a day too early',
      rules: [{ von: '11-3', bis: '02-2' }],
      of: { ...usual, datum: '2021-11-20' },
      gives: [winter],
      codes: ['regel'],
    },
    { name: 'of the count, as many', rules: [{ anzahl_max: 9 }], of: odd, gives: [], codes: ['entfernung', 'jahreszeit'] },
    {
      name: 'of the count, one more',
      rules: [{ anzahl_max: 8 }],
      of: odd,
      gives: [['regel', 'Nach der Regel für diese Art höchstens 8 Individuen zu erwarten', { anzahl_max: 8 }]],
      codes: ['regel', 'entfernung', 'jahreszeit'],
    },
    {
      name: 'of the region, inside',
      rules: [{ gebiet: there }],
      of: { ...odd, x: 580000 },
      gives: [],
      codes: ['jahreszeit', 'anzahl_hoch'],
    },
    { name: 'of the region, outside', rules: [{ gebiet: there }], of: usual, gives: [outside], codes: ['regel'] },
    {
      name: 'of the tenant beat those of all',
      rules: [{ gebiet: there }, { mandant: 'N', gebiet: here }],
      of: usual,
      gives: [],
      codes: [],
    },
    {
      name: 'of another tenant do not',
      rules: [{ gebiet: there }, { mandant: 'S', gebiet: here }],
      of: usual,
      gives: [outside],
      codes: ['regel'],
    },
  ];
  for (const { name, rules, of, gives, codes } of cases)
    it(name, async () => {
      await setRules(...rules);
      const gruende = await askFor(of);
      assert.deepEqual(
        gruende.flatMap(({ code, text, werte }) => (code === 'regel' ? [[code, text, werte]] : [])),
        gives,
      );
      assert.deepEqual(
        gruende.map(({ code }) => code),
        codes,
      );
    });

  it('of the region of a sensitive species are not told to everybody', async () => {
    await setRules({ gebiet: there });
    assert.deepEqual(
      (await askFor(usual, { offen: true })).map(({ code }) => code),
      ['regel'],
    );
    await setSensibel(sql, 'W', arten.amsel, true);
    await countPruefung(sql);
    assert.deepEqual(
      (await askFor(usual, { offen: true })).map(({ code }) => code),
      ['zu_wenige_vergleiche'],
    );
    assert.deepEqual(
      (await askFor(usual)).map(({ code }) => code),
      ['regel'],
    );
    await setSensibel(sql, 'W', arten.amsel, false);
  });
});

describe('reasons of records that wait', () => {
  const reasonsOf = async (id: number) => {
    const rows =
      await sql`select gruende, to_json(codes) as codes, auffaelligkeit from portal.pruefgrund where sichtbeobachtung_id = ${id}`;
    return rows[0] ?? null;
  };
  const far = { ...usual, x: 493000, datum: '2021-01-03' };
  let id = 0;
  before(async () => {
    await clear();
    await store(forty(arten.amsel));
    [id = 0] = await store([{ ...far, bereich: 'privat', status: 'pruefung' }]);
    await countPruefung(sql);
  });

  it('are there once it is published, follow it, and go when it does not wait any more', async () => {
    assert.equal(await reasonsOf(id), null, 'private');
    await sql`update portal.sichtbeobachtung set bereich = 'oeffentlich' where id = ${id}`;
    await countPruefung(sql);
    assert.deepEqual(await reasonsOf(id), {
      gruende: [
        { code: 'entfernung', text: '63 km vom nächsten bekannten Vorkommen entfernt', werte: { km: 63 } },
        { code: 'jahreszeit', text: 'Zu dieser Jahreszeit (Anfang Januar) noch nie gemeldet', werte: { anteil: 0 } },
        { code: 'erste_im_mandant', text: 'Erste Meldung dieser Art in Südland', werte: { mandanten: ['Südland'] } },
      ],
      codes: ['entfernung', 'erste_im_mandant', 'jahreszeit'],
      auffaelligkeit: 8,
    });
    for (const [change, codes] of [
      [sql`update portal.sichtbeobachtung set datum = '2021-05-03' where id = ${id}`, ['entfernung', 'erste_im_mandant']],
      [sql`update portal.sichtbeobachtung set point = st_setsrid(st_makepoint(420001, 5530000), 25832) where id = ${id}`, []],
      [sql`update portal.sichtbeobachtung set anzahl = 8 where id = ${id}`, ['anzahl_hoch']],
      [sql`update portal.sichtbeobachtung set art = ${arten.uhu} where id = ${id}`, ['zu_wenige_vergleiche']],
    ] as const) {
      await change;
      await countPruefung(sql);
      assert.deepEqual((await reasonsOf(id))?.codes, codes);
    }
    for (const status of ['freigegeben', 'pruefung', 'abgelehnt', 'pruefung', 'hinweis', 'pruefung']) {
      await sql`update portal.sichtbeobachtung set status = ${status}::portal.status where id = ${id}`;
      await countPruefung(sql);
      assert.equal((await reasonsOf(id)) !== null, status === 'pruefung', status);
    }
    await sql`delete from portal.sichtbeobachtung where id = ${id}`;
    assert.equal(await reasonsOf(id), null, 'deleted');
  });

  it('are found out anew at night', async () => {
    const ids = await store(
      Array.from({ length: 3 }, (_, n) => ({
        ...usual,
        x: usual.x + n,
        datum: '2021-02-03',
        status: 'pruefung',
      })),
    );
    await countPruefung(sql);
    await store(Array.from({ length: 20 }, (_, n) => ({ ...usual, y: usual.y + n, datum: '2022-02-03' })));
    await countPruefung(sql);
    assert.deepEqual((await reasonsOf(ids[0] ?? 0))?.codes, ['jahreszeit']);
    await renewPruefgruende(sql);
    for (const each of ids) assert.deepEqual((await reasonsOf(each))?.codes, []);
    const [last] = await sql`select api.set_pruefgrund_aller(after_id => ${ids[0] ?? 0}, row_limit => 1)::integer as last`;
    assert.equal(last?.last, ids[1]);
  });

  it('are not asked for anew where nothing of it changed', async () => {
    const [same = 0] = await store([{ ...usual, datum: '2021-05-04', status: 'pruefung' }]);
    await countPruefung(sql);
    await sql`update portal.sichtbeobachtung set bemerkung = 'am Bach' where id = ${same}`;
    assert.deepEqual([...(await sql`select from portal.pruefgrund_offen`)], []);
  });
});
