// What the cases need to know of a generated database: where it is crowded, which species are frequent, who reports.
import { createHash } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import type { Tenant } from './calls.ts';

export interface Facts {
  sql: Sql;
  size: number;
  /** Base URL of the service. */
  url: string;
  /** The tenant with the usual list, and the one whose list differs from its neighbours'. */
  plain: Tenant;
  differing: Tenant;
  tenants: Tenant[];
  /** Hot spots, the most crowded first, EPSG:25832. */
  places: { x: number; y: number }[];
  /** Species from frequent to rare as the plain tenant names them. */
  species: { art: number; artId: string }[];
  /** Species of about 100 records. */
  rare: { art: number; artId: string }[];
  gids: number[];
}

/** How many different requests a case has: more than the caches of a connection, few enough for pgbench's list of scripts. */
export const variants = 32;

/** A number in [0, 1) that depends on its arguments alone. */
export function unit(n: number, seed: string): number {
  return createHash('sha256').update(`${seed} ${n}`).digest().readUInt32BE() / 2 ** 32;
}

/** The same for each variant of a case. */
export async function makeVariants<T>(make: (n: number) => Promise<T> | T, count = variants): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => make(n)));
}

/** The element at a random place of a list. */
export function pick<T>(list: readonly T[], n: number, seed: string): T {
  const item = list[Math.floor(unit(n, seed) * list.length)];
  if (item === undefined) throw new Error(`nothing to pick from: ${seed}`);
  return item;
}

export async function readFacts(sql: Sql, size: number, url: string): Promise<Facts> {
  const tenants = await sql<Tenant[]>`
    select m.id, m.kuerzel, d.domain as host
    from portal.mandant m
    join portal.mandant_domain d on d.mandant_id = m.id and d.position = 1
    order by m.id`;
  const tenantOf = (kuerzel: string): Tenant => {
    const tenant = tenants.find((candidate) => candidate.kuerzel === kuerzel);
    if (!tenant) throw new Error(`no tenant ${kuerzel}`);
    return tenant;
  };
  const plain = tenantOf('NI');
  // From the statistics of the rank: counting ten million rows is not worth it, except for the rare ones.
  const species = await sql<{ art: number; artId: string }[]>`
    select r.art, am.art_id as "artId"
    from bench.rang r
    join portal.art_mandant am on am.art = r.art and am.mandant_id = ${plain.id}::integer
    where r.rang <= 3000 and not am.sensibel
    order by r.rang`;
  const rare = await sql<{ art: number; artId: string }[]>`
    select r.art, am.art_id as "artId"
    from bench.rang r
    join portal.art_mandant am on am.art = r.art and am.mandant_id = ${plain.id}::integer
    cross join lateral (
      select count(*) as anzahl from (select from portal.sichtbeobachtung s where s.art = r.art limit 1000) s) k
    where r.rang > 300
    order by abs(k.anzahl - 100), r.rang
    limit 16`;
  return {
    sql,
    size,
    url,
    plain,
    differing: tenantOf('RP'),
    tenants: [...tenants],
    places: [...(await sql<{ x: number; y: number }[]>`select x, y from bench.ort order by id`)],
    species: [...species],
    rare: [...rare],
    gids: (await sql<{ id: number }[]>`select id from portal.artengruppe order by id`).map((row) => row.id),
  };
}
