// Whoever writes, and in whatever order: cell, tenants, masking, both logs and what analysts read follow from what was written.
// Random sequences of writes by SQL and through the interface, each compared with a plain recomputation.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Sql } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { onPostgres } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { listWrong, readViews } from '../support/truth.ts';

let service: TestService;
let sql: Sql;
let expertin: number;
before(async () => {
  service = await startTestService();
  sql = service.database.sql;
  const [row] = await sql`select id from portal.nutzer where loginname = 'expertin'`;
  expertin = row?.id;
});

// Inside, on borders, in cells that borders cut, and outside of all tenants.
const xs = [320000.5, 338000, 340000, 380000, 398000, 420000.25, 449999, 450001, 452000, 453999, 457000, 480000, 499000, 503000];
const place = fc.record({ x: fc.constantFrom(...xs), y: fc.constantFrom(5500000, 5530000.75, 5557500, 5561000) });
const art = fc.constantFrom(...Object.values(arten));
const kuerzel = fc.constantFrom('N', 'S', 'W');
const state = fc.constantFrom(
  'privat pruefung',
  'oeffentlich pruefung',
  'oeffentlich hinweis',
  'oeffentlich freigegeben',
  'oeffentlich abgelehnt',
);
const point = ({ x, y }: { x: number; y: number }) => `st_setsrid(st_makepoint(${x}, ${y}), 25832)`;
const toState = (text: string) => {
  const [bereich, status] = text.split(' ');
  return `bereich = '${bereich}', status = '${status}'`;
};

/** One column or several of a record, as SQL writes them; derived columns too, which a writer can't have. */
const change = fc.oneof(
  art.map((id) => `art = ${id}`),
  place.map((p) => `point = ${point(p)}`),
  fc.constantFrom('point = st_translate(point, 0.01, 0)', 'point = st_translate(point, 4000, -3000)', 'point = point'),
  fc.boolean().map((value) => `sensibel = ${value}`),
  state.map(toState),
  state.map((text) => `${toState(text)}, experte_id = (select min(id) from portal.nutzer)`),
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      'anzahl = anzahl % 9 + 1',
      "datum = date '1850-01-01' + id::integer",
      "bemerkung = 'am Bach'",
      'bemerkung = null',
      "bemerkung_experte = 'sicher'",
      'stadium_id = 2',
      'stadium_id = null',
      'aktivitaet_id = 1',
      'aktivitaet_id = nullif(aktivitaet_id % 2 + 1, 1)',
      "foto = md5(id::text) || '.jpg', audio = null",
      "angelegt = now() - interval '1 day'",
      "guid = '00000000-0000-4000-8000-000000000000', gid = 3, cell_x = 1, schutz = 0, sensible_art = false, shown_point = point",
      'nutzer_id = nutzer_id',
    ),
  },
);

type Write =
  | { kind: string; statement: string }
  | { kind: 'api'; what: 'post' | 'put' | 'review' | 'delete'; p: { x: number; y: number }; art: number; sensibel: boolean };

/** A share of the records, by their number. */
const some = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.nat(5)).map(([m, r]) => `id % ${m} = ${r % m}`);
let days = 0;
const rows = fc.array(fc.record({ art, place, sensibel: fc.boolean(), state }), { minLength: 1, maxLength: 5 });
const kinds = [
  {
    weight: 4,
    arbitrary: rows.map((list) => ({
      kind: 'insert',
      statement: `insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, sensibel, bereich, status) values ${list
        .map(
          (r) =>
            `((select max(id) from portal.nutzer), ${r.art}, ${point(r.place)}, date '1900-01-01' + DAY, ${r.sensibel}, '${r.state.split(' ').join("', '")}')`,
        )
        .join(', ')}`,
    })),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(change, some)
      .map(([set, where]) => ({ kind: 'update', statement: `update portal.sichtbeobachtung set ${set} where ${where}` })),
  },
  {
    weight: 1,
    arbitrary: some.map((where) => ({ kind: 'delete', statement: `delete from portal.sichtbeobachtung where ${where}` })),
  },
  {
    weight: 5,
    arbitrary: fc
      .oneof(
        fc
          .tuple(kuerzel, art, fc.boolean())
          .map(
            ([k, a, value]) =>
              `update portal.art_mandant am set sensibel = ${value} from portal.mandant m where m.id = am.mandant_id and m.kuerzel = '${k}' and am.art = ${a}`,
          ),
        fc.tuple(art, fc.boolean()).map(([a, value]) => `update portal.art_mandant set sensibel = ${value} where art = ${a}`),
        fc
          .tuple(kuerzel, art)
          .map(
            ([k, a]) =>
              `delete from portal.art_mandant am using portal.mandant m where m.id = am.mandant_id and m.kuerzel = '${k}' and am.art = ${a}`,
          ),
        fc
          .tuple(kuerzel, art, fc.boolean())
          .map(
            ([k, a, value]) =>
              `insert into portal.art_mandant (mandant_id, art, art_id, sensibel) select id, ${a}, kuerzel || '-' || ${a}, ${value} from portal.mandant where kuerzel = '${k}' on conflict (mandant_id, art) do update set sensibel = excluded.sensibel`,
          ),
        fc.tuple(art, fc.constantFrom(1, 2, 3)).map(([a, gid]) => `update portal.art set gid = ${gid} where id = ${a}`),
        art.map(
          (a) => `update portal.art set name_deutsch = name_deutsch || 'ü"', name_wissenschaftlich = 'Nova' where id = ${a}`,
        ),
        fc
          .tuple(kuerzel, fc.constantFrom(-6000, -3000, 0, 2000))
          .map(
            ([k, d]) =>
              `update portal.mandant set boundary = st_multi(st_makeenvelope(${{ N: 400000, S: 452000, W: 300000 }[k as 'N']}, 5500000, ${{ N: 452000, S: 500000, W: 340000 }[k as 'N']} + ${d}, 5560000, 25832)) where kuerzel = '${k}'`,
          ),
        fc.constantFrom(
          `insert into portal.mandant (kuerzel, name, domains, boundary) select 'X', 'X', '{x.test}', st_multi(st_makeenvelope(448000, 5520000, 460000, 5540000, 25832)) where not exists (select from portal.mandant where kuerzel = 'X')`,
          `delete from portal.mandant where kuerzel = 'X'`,
        ),
      )
      .map((statement) => ({ kind: 'catalogue', statement })),
  },
];
const writeByInterface = (...what: Extract<Write, { kind: 'api' }>['what'][]) =>
  fc.record({ kind: fc.constant('api' as const), what: fc.constantFrom(...what), p: place, art, sensibel: fc.boolean() });
const write: fc.Arbitrary<Write> = fc.oneof(...kinds, {
  weight: 4,
  arbitrary: writeByInterface('post', 'put', 'review', 'delete'),
});
// What is logged whatever came before: a record in the midst of N, and a change of the catalogue that moves where it is shown.
const setSensibel = (value: boolean): Write => ({
  kind: 'catalogue',
  statement: `insert into portal.art_mandant (mandant_id, art, art_id, sensibel) select id, 2, kuerzel || '-2', ${value} from portal.mandant where kuerzel = 'N' on conflict (mandant_id, art) do update set sensibel = excluded.sensibel`,
});
const certain: Write[] = [
  {
    kind: 'insert',
    statement: `insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, sensibel, bereich, status) values ((select max(id) from portal.nutzer), 2, ${point({ x: 420123, y: 5530456 })}, date '1900-01-01' + DAY, false, 'oeffentlich', 'freigegeben')`,
  },
  { kind: 'update', statement: 'update portal.sichtbeobachtung set anzahl = 7' },
  setSensibel(false),
  setSensibel(true),
  { kind: 'api', what: 'post', p: { x: 420500, y: 5530500 }, art: 2, sensibel: false },
];
/** At random, and then one of each kind, since the rare ones may not have come. */
const writes: fc.Arbitrary<Write[]> = fc
  .tuple(
    fc.array(write, { minLength: 40, maxLength: 60, size: 'max' }),
    fc.tuple(...kinds.map((kind) => kind.arbitrary)),
    fc.tuple(writeByInterface('post'), writeByInterface('put'), writeByInterface('review'), writeByInterface('delete')),
  )
  .map((parts) => [...parts.flat(), ...certain]);

interface State {
  bereich: string;
  status: string;
}
const readStates = async () => {
  const found = await sql<({ id: number } & State)[]>`select id, bereich, status from portal.sichtbeobachtung`;
  return new Map(found.map(({ id, bereich, status }) => [id, { bereich, status }]));
};

/** A write through the interface; says which records it changed, or none when it was refused. */
async function writeByApi(w: Extract<Write, { kind: 'api' }>): Promise<number[]> {
  const form = { lat: String(w.p.y), lon: String(w.p.x), sensibel: String(w.sensibel) };
  if (w.what === 'post') {
    const datum = `${(days % 28) + 1}.${(Math.floor(days / 28) % 12) + 1}.${1960 + (Math.floor(days++ / 336) % 60)}`;
    const answer = await service.request('/sichtbeobachtungen', {
      as: 'melder',
      form: { ...form, art: String(w.art), datum, bereich: 'oeffentlich' },
    });
    return answer.status === 201 ? [answer.json.result[0].id] : [];
  }
  const own = await sql`
    select s.id from portal.sichtbeobachtung s join portal.nutzer u on u.id = s.nutzer_id
    where (${w.what} <> 'put' or s.bereich = 'privat') order by (u.loginname = 'melder') desc, s.id desc limit 1`;
  const path = `/sichtbeobachtungen/${own[0]?.id ?? 0}`;
  const answer =
    w.what === 'put'
      ? await service.request(path, { as: 'melder', method: 'PUT', form: { ...form, anzahl: '5' } })
      : w.what === 'review'
        ? await service.request(path, {
            as: 'expertin',
            method: 'PUT',
            form: { status: w.sensibel ? 'freigegeben' : 'hinweis', bemerkung: 'gesehen' },
          })
        : await service.request(path, { as: 'admin', method: 'DELETE' });
  return answer.status === 200 ? [own[0]?.id] : [];
}

const counts = new Map<string, number>();

async function checkWrite(w: Write): Promise<void> {
  const [last] = await sql`
    select coalesce((select max(id) from portal.protokoll), 0) as protokoll, coalesce((select max(id) from portal.qs), 0) as qs`;
  const old = await readStates();
  const oldViews = await readViews(sql);
  let touched: number[] = [];
  if ('statement' in w) {
    const statement = w.statement.replaceAll('DAY', () => String(++days % 20000));
    const ids = w.kind === 'catalogue' ? [] : await sql.unsafe(`${statement} returning id`);
    if (w.kind === 'catalogue') await sql.unsafe(statement);
    touched = ids.map((row) => row.id);
  } else {
    touched = await writeByApi(w);
  }
  const now = await readStates();
  const views = await readViews(sql);
  if (w.kind === 'catalogue') {
    const tenants = await sql`select kuerzel from portal.mandant`;
    // Under the domain of a tenant that comes or goes nobody was there to see it.
    const known = new Set(tenants.map((row) => row.kuerzel));
    const seen = (text: string | undefined) =>
      (text ?? '')
        .split('; ')
        .filter((part) => known.has(part.split(' ')[0] ?? '') && part.split(' ')[0] !== 'X')
        .join('; ');
    touched = [...now.keys()].filter((id) => seen(views.get(id)) !== seen(oldViews.get(id)));
  }
  const kind = (id: number) => (!old.has(id) ? 'CREATE' : now.has(id) ? 'UPDATE' : 'DELETE');
  const expected = touched.map((id) => `${kind(id)} ${id}`).sort();
  const logged =
    await sql`select audit || ' ' || sichtbeobachtung_id as entry from portal.protokoll where id > ${last?.protokoll}`;
  assert.deepEqual(logged.map((row) => row.entry).sort(), expected, 'protokoll');

  const reviewed = touched.flatMap((id) => {
    const [from, to] = [old.get(id), now.get(id)];
    const isEntry = to?.bereich === 'oeffentlich' && (from?.bereich !== 'oeffentlich' || from.status !== to.status);
    return isEntry ? [`${id} ${to.status}`] : [];
  });
  const entries = await sql`select sichtbeobachtung_id || ' ' || status as entry from portal.qs where id > ${last?.qs}`;
  assert.deepEqual(entries.map((row) => row.entry).sort(), reviewed.sort(), 'qs');
  assert.deepEqual(await listWrong(sql), []);
  for (const name of [w.kind === 'api' && 'what' in w ? w.what : w.kind, ...(expected.length > 0 ? [`${w.kind} logged`] : [])]) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

describe('writes by SQL and through the interface', () => {
  it('S4.2 lead to the same records, logs and shown rows as a plain recomputation, after each of them', async () => {
    assert.ok(expertin > 0);
    await fc.assert(
      fc.asyncProperty(writes, async (sequence) => {
        for (const w of sequence) await checkWrite(w);
      }),
      // The database goes on from run to run, so a shorter sequence would be another one.
      { numRuns: onPostgres ? 5 : 1, endOnFailure: true },
    );
    for (const name of [
      'insert',
      'update',
      'delete',
      'catalogue',
      'post',
      'put',
      'review',
      'insert logged',
      'update logged',
      'catalogue logged',
      'api logged',
    ]) {
      assert.ok((counts.get(name) ?? 0) > 0, `${name}: ${JSON.stringify([...counts])}`);
    }
  });
});
