// Sightings, species and borders as tests write them by SQL, and what follows from it.
import assert from 'node:assert/strict';
import type { Sql, Transaction } from '../../src/db/client.ts';
import { arten } from './catalogue.ts';

let days = 0;
/** Stores a sighting, an Amsel in the middle of N unless said otherwise; each has a day of its own, so that none is a duplicate. */
export async function makeRecord(
  sql: Sql | Transaction,
  {
    art = arten.amsel as number,
    x = 420000,
    y = 5530000,
    sensibel = false,
    bereich = 'privat',
    status = 'pruefung',
    bemerkung = null as string | null,
    nutzer = 'admin' as string,
  } = {},
): Promise<number> {
  const [row] = await sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, sensibel, bereich, status, bemerkung)
    values ((select u.id from portal.nutzer u where u.loginname = ${nutzer}::text), ${art}, st_setsrid(st_makepoint(${x}::float8, ${y}::float8), 25832),
      date '2001-01-01' + ${++days}::integer, ${sensibel}, ${bereich}::portal.bereich, ${status}::portal.status, ${bemerkung})
    returning id`;
  return row?.id;
}

export async function setSensibel(sql: Sql | Transaction, kuerzel: string, art: number, sensibel: boolean): Promise<void> {
  await sql`
    update portal.art_mandant am set sensibel = ${sensibel} from portal.mandant m
    where m.id = am.mandant_id and m.kuerzel = ${kuerzel} and am.art = ${art}`;
}

/** Moves a tenant's western and eastern border. */
export async function setBorders(sql: Sql | Transaction, kuerzel: string, x1: number, x2: number): Promise<void> {
  await sql`
    update portal.mandant set boundary = st_multi(st_makeenvelope(${x1}::float8, 5500000, ${x2}::float8, 5560000, 25832))
    where kuerzel = ${kuerzel}`;
}

/** Moves the border of N and S, in one statement. */
export async function moveBorder(sql: Sql, x: number): Promise<void> {
  await sql`
    update portal.mandant
    set boundary = st_multi(case kuerzel
      when 'N' then st_makeenvelope(400000, 5500000, ${x}::float8, 5560000, 25832)
      else st_makeenvelope(${x}::float8, 5500000, 500000, 5560000, 25832) end)
    where kuerzel in ('N', 'S')`;
}

/** Tenants of a record: `N` for one of the point, `(N)` for one that only the cell touches. */
export async function linksOf(sql: Sql, id: number): Promise<string> {
  const rows = await sql`
    select case when l.exakt then m.kuerzel else '(' || m.kuerzel || ')' end || case when l.gid = s.gid then '' else ' wrong group' end as link
    from portal.mandant_sichtbeobachtung l
    join portal.mandant m on m.id = l.mandant_id
    join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id
    where s.id = ${id} order by m.kuerzel`;
  return rows.map((row) => row.link).join(' ');
}

/** What both logs gain while `work` runs, in the order written. */
export async function logsOf(sql: Sql, work: () => Promise<unknown>): Promise<{ protokoll: string[]; qs: string[] }> {
  const [last] = await sql`
    select coalesce((select max(id) from portal.protokoll), 0) as protokoll, coalesce((select max(id) from portal.qs), 0) as qs`;
  await work();
  const protokoll = await sql`
    select audit || ' ' || sichtbeobachtung_id as entry from portal.protokoll where id > ${last?.protokoll} order by id`;
  const qs = await sql`
    select sichtbeobachtung_id || ' ' || status || coalesce(' by ' || experte_id, '') as entry
    from portal.qs where id > ${last?.qs} order by id`;
  return { protokoll: protokoll.map((row) => row.entry), qs: qs.map((row) => row.entry) };
}

/** Does this in a transaction that is taken back. */
export async function takeBack(sql: Sql, work: (tx: Transaction) => Promise<unknown>): Promise<void> {
  const back = new Error('taken back');
  const transaction = sql.begin(async (tx) => {
    await work(tx);
    throw back;
  });
  await assert.rejects(transaction, back);
}
