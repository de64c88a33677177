// Two services that hold the same sightings, apart from where protected ones lie within their cells (D4).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import { type Account, arten } from './catalogue.ts';
import type { Dice } from './dice.ts';
import { type Answer, type RequestOptions, startTestService, type TestService } from './service.ts';

/** Side of the cells (D4), metres. */
export const cellSize = 5000;

/** EPSG:25832, metres. */
export interface Place {
  x: number;
  y: number;
}

export type Tenant = 'N' | 'S' | 'W';
export const tenants: Tenant[] = ['N', 'S', 'W'];

/** Column of a cell, and the tenants of the test catalogue that it touches. */
const columns: { column: number; touches: Tenant[] }[] = [
  { column: 84, touches: ['N'] },
  // cut by the border of N and S
  { column: 90, touches: ['N', 'S'] },
  // outside, but its edge is the border of N
  { column: 79, touches: ['N'] },
  { column: 96, touches: ['S'] },
  { column: 76, touches: [] },
  { column: 64, touches: ['W'] },
];

const sensitive: Partial<Record<number, Tenant[]>> = {
  [arten.uhu]: tenants,
  [arten.wanderfalke]: ['S'],
  [arten.rotmilan]: ['W'],
};

export interface TwinRecord {
  id: number;
  art: number;
  sensibel: boolean;
  recorder: Account;
  /** Left lower corner of its cell. */
  corner: Place;
  touches: Tenant[];
  stage: 'privat' | 'pruefung' | 'hinweis' | 'abgelehnt' | 'freigegeben';
  /** Two places in its cell: the second one is where the second service may have it. */
  places: [Place, Place];
  day: string;
}

/** Whether D4 hides the record's place at a tenant's domain: the tests' own reading of it. */
export function isProtected({ sensibel, art, touches }: TwinRecord, tenant: Tenant): boolean {
  const where = sensitive[art] ?? [];
  return sensibel || where.includes(tenant) || touches.some((touched) => where.includes(touched));
}

export interface Twins {
  first: TestService;
  second: TestService;
  records: TwinRecord[];
  /** Puts every record to its first place, in the second service those that `isMoved` names to their second one. */
  arrange(isMoved: (record: TwinRecord) => boolean): Promise<void>;
  /** The same statements in both. */
  change(work: (sql: Sql) => Promise<unknown>): Promise<void>;
  /** Sets the clocks of both logs alike: the two are written to at different moments. */
  settle(): Promise<void>;
  /** The same request to both. */
  ask(path: string, options?: RequestOptions): Promise<[Answer, Answer]>;
}

/** Starts both with every kind of record: species × mark × cell × stage × recorder, in mixed order. */
export async function startTwins(dice: Dice): Promise<Twins> {
  const [first, second] = [await startTestService(), await startTestService()];
  const records = makeRecords(dice);
  const change: Twins['change'] = async (work) => {
    await Promise.all(
      [first, second].map(async ({ database }) => {
        await work(database.sql);
        await setClock(database.sql);
      }),
    );
  };
  const settle = () => change(async () => {});
  let arranged = 0;
  await change(forgetStart);
  await change((sql) => insertRecords(sql, records));
  const rows = await first.database.sql`select id from portal.sichtbeobachtung order by id`;
  for (const [position, { id }] of rows.entries()) Object.assign(records[position] ?? {}, { id });
  for (const { media } of [first, second]) {
    for (const position of records.keys())
      await media.storage.put(nameOf(position), Buffer.from(`photo ${position}`), 'image/jpeg');
  }
  return {
    first,
    second,
    records,
    async arrange(isMoved) {
      await Promise.all([
        setPlaces(first.database.sql, records, () => 0),
        setPlaces(second.database.sql, records, (record) => (isMoved(record) ? 1 : 0)),
      ]);
      await settle();
      // What is moved here may be shown at another tenant: that something changed there is no secret. From now on both count alike.
      arranged++;
      await change(
        (sql) =>
          sql`
            with gone as (delete from portal.stand), gone_blocks as (delete from portal.stand_block where anzahl < ${1000 * arranged}),
              blocks as (
                insert into portal.stand_block
                select b.block, ${arranged}, ${1000 * arranged}, 'epoch'
                from (
                  select private.to_block(z.cell_x, z.cell_y) from portal.raster_zelle z union select private.ueberall()
                ) b (block))
            insert into portal.stand values (${arranged}, ${1000 * arranged}, 0)`,
      );
    },
    change,
    settle,
    ask: (path, options) => Promise.all([first.request(path, options), second.request(path, options)]),
  };
}

// When and where a database was started is in the version, but nothing that depends on a record.
async function forgetStart(sql: Sql): Promise<void> {
  const ofServer = {
    'api.get_stand_gezeigt': "'portal.stand'::regclass::oid",
    'api.get_stand_protokoll': "'portal.stand'::regclass::oid",
    'api.get_stand_gezeigt_in': "'portal.stand_block'::regclass::oid",
    'private.count_version': 'pg_catalog.pg_postmaster_start_time()',
    'private.count_block': 'pg_catalog.pg_postmaster_start_time()',
  };
  for (const [name, value] of Object.entries(ofServer)) {
    const [row] = await sql<{ code: string }[]>`select pg_get_functiondef(${name}::regproc) as code`;
    const parts = row?.code.split(value) ?? [];
    assert.ok(parts.length > 1, `${value} in ${name}`);
    await sql.unsafe(parts.join('null'));
  }
}

/** Everything that a reader gets and that is no accident: status, headers, body. */
export function toBytes({ status, headers, text }: Answer): string {
  const lines = [...headers]
    .filter(([name]) => name !== 'date' && name !== 'x-request-id')
    .map(([name, value]) => `${name}: ${value}`);
  return [status, ...lines.sort(), '', text].join('\n');
}

/** Fails, with the first place that differs, unless two answers have the same bytes. */
export function assertSameBytes([one, two]: [Answer, Answer], request: string): void {
  const [a, b] = [toBytes(one), toBytes(two)];
  if (a === b) return;
  let at = 0;
  while (a[at] === b[at]) at++;
  const around = (text: string) => text.slice(Math.max(0, at - 120), at + 60);
  assert.fail(`the place within the cell shows in ${request}\n--- one\n${around(a)}\n--- other\n${around(b)}`);
}

/** A place in a cell: anywhere, or where comparisons go wrong: edges, centre, the border of N and S, one millimetre off. */
export function pickPlace(dice: Dice, corner: Place): Place {
  const offset = () =>
    dice.pick([0, 2000, 2500, 4999.999, ...Array.from({ length: 6 }, () => Math.floor(dice.roll() * 5e6) / 1000)]);
  return { x: corner.x + offset(), y: corner.y + offset() };
}

function makeRecords(dice: Dice): TwinRecord[] {
  const records: TwinRecord[] = [];
  for (const art of [arten.uhu, arten.wanderfalke, arten.rotmilan, arten.amsel]) {
    for (const sensibel of [true, false]) {
      for (const { column, touches } of columns) {
        for (const stage of ['privat', dice.pick(['pruefung', 'hinweis', 'abgelehnt'] as const), 'freigegeben'] as const) {
          for (const recorder of ['melder', 'nachbarin'] as const) {
            const corner = { x: column * cellSize, y: (1104 + dice.below(4)) * cellSize };
            const places: [Place, Place] = [pickPlace(dice, corner), pickPlace(dice, corner)];
            const day = `${2021 + dice.below(3)}-0${1 + dice.below(9)}-1${dice.below(10)}`;
            records.push({ id: 0, art, sensibel, recorder, corner, touches, stage, places, day });
          }
        }
      }
    }
  }
  return records
    .map((record) => ({ record, key: dice.roll() }))
    .sort((a, b) => a.key - b.key)
    .map(({ record }) => record);
}

function nameOf(position: number): string {
  return `${createHash('md5').update(String(position)).digest('hex')}.jpg`;
}

async function insertRecords(sql: Sql, records: TwinRecord[]): Promise<void> {
  const rows = records.map(({ art, sensibel, recorder, stage, places: [{ x, y }], day }, position) => ({
    position,
    recorder,
    art,
    x,
    y,
    day,
    sensibel,
    bereich: stage === 'privat' ? 'privat' : 'oeffentlich',
    status: stage === 'privat' ? 'pruefung' : stage,
    foto: position % 2 === 0 ? nameOf(position) : null,
    audio: null,
  }));
  await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, sensibel, bereich, status, experte_id, bemerkung, foto)
    select u.id, r.art, st_setsrid(st_makepoint(r.x, r.y), 25832), r.day, r.sensibel, r.bereich, r.status,
      case when r.status = 'freigegeben' then (select e.id from portal.nutzer e where e.loginname = 'expertin') end,
      'Nr. ' || r.position, r.foto
    from json_to_recordset(${JSON.stringify(rows)}::text::json) r (
      position integer, recorder text, art integer, x float8, y float8, day date, sensibel boolean, bereich portal.bereich,
      status portal.status, foto text)
    join portal.nutzer u on u.loginname = r.recorder
    order by r.position`;
}

// Of all records in both services, so that both change logs get the same entries.
async function setPlaces(sql: Sql, records: TwinRecord[], placeOf: (record: TwinRecord) => 0 | 1): Promise<void> {
  const rows = records.map((record) => ({ id: record.id, ...record.places[placeOf(record)] }));
  await sql`
    update portal.sichtbeobachtung s
    set point = st_setsrid(st_makepoint(r.x, r.y), 25832)
    from json_to_recordset(${JSON.stringify(rows)}::text::json) r (id bigint, x float8, y float8)
    where s.id = r.id`;
}

async function setClock(sql: Sql): Promise<void> {
  await sql`update portal.protokoll set zeitpunkt = timestamptz '2026-01-01 00:00+01' + id * interval '7 minutes'`;
  await sql`update portal.qs set zeitpunkt = timestamptz '2026-01-01 00:00+01' + id * interval '7 minutes'`;
}
