// People with a login of their own in the database, made as docs/operations/logins.md says.
import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import postgres from 'postgres';
import type { Database, Sql } from '../../src/db/client.ts';
import { arten } from './catalogue.ts';
import { databaseUrlOf, openTestDatabase } from './database.ts';

export type Group = 'gis_public' | 'gis_exact';

export interface Analyst {
  name: string;
  /** To connect with as this analyst. */
  url: URL;
  /** One session that has lifted what its role sets by default, as every analyst can; returns what it was told beside the answer. */
  run<T>(work: (session: postgres.Sql, notices: postgres.Notice[]) => Promise<T>): Promise<T>;
}

const names: string[] = [];
// Of the file, whatever hook or test made them.
after(async () => {
  if (names.length === 0) return;
  const server = postgres(process.env.DATABASE_URL ?? '', { max: 1 });
  for (const name of names) await server.unsafe(`drop role "${name}"`);
  await server.end({ timeout: 5 });
});

/**
 * Creates a login role in a group, for the tests of one file. PostgreSQL only.
 * @param begin what its name begins with
 */
export async function createAnalyst(database: Database, group: Group, begin = 'test'): Promise<Analyst> {
  const { sql } = database;
  const name = `${begin}_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await sql.unsafe(`create role "${name}" login password '${password}' in role ${group}`);
  await sql.unsafe(`alter role "${name}" set statement_timeout = '1s'`);
  await sql.unsafe(`alter role "${name}" set default_transaction_read_only = on`);
  const [current] = await sql`select current_database() as name`;
  const url = new URL(databaseUrlOf(current?.name, name, password));
  names.push(name);
  return {
    name,
    url,
    async run(work) {
      const notices: postgres.Notice[] = [];
      const session = postgres(url.href, { max: 1, fetch_types: false, onnotice: (notice) => notices.push(notice) });
      try {
        await session`set default_transaction_read_only = off`;
        await session`set statement_timeout = 0`;
        return await work(session, notices);
      } finally {
        await session.end({ timeout: 1 });
      }
    },
  };
}

/** Northings of true places that gis_public must not know; of the last two, nobody. */
export const secrets = { protected: 5531777.25, elsewhere: 5532777.25, private: 5533777.25, unreleased: 5534777.25 };

/** A database with twenty records at each of them and at a place that everybody may know, and an analyst of each group. */
export async function openSecrets(): Promise<{ database: Database; sql: Sql; analysts: Record<Group, Analyst> }> {
  const database = await openTestDatabase();
  const { sql } = database;
  // Those that nobody may hear of count 15 771.
  const make = (art: number, y: number, bereich: string, status: string) => sql`
    insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status, bemerkung, anzahl)
    select (select min(id) from portal.nutzer), ${art}, st_setsrid(st_makepoint(421234.5, ${y}::float8 + i * 0.01), 25832),
      date '2001-01-01' + i, ${bereich}::portal.bereich, ${status}::portal.status, 'bei Hochwert ' || ${y}::float8,
      case when ${status}::text = 'freigegeben' then 2 else 15771 end
    from generate_series(0, 19) i`;
  await make(arten.uhu, secrets.protected, 'oeffentlich', 'freigegeben');
  await make(arten.wanderfalke, secrets.elsewhere, 'oeffentlich', 'freigegeben');
  await make(arten.amsel, secrets.private, 'privat', 'pruefung');
  await make(arten.amsel, secrets.unreleased, 'oeffentlich', 'hinweis');
  await make(arten.amsel, 5530111, 'oeffentlich', 'freigegeben');
  await sql`analyze`;
  const analysts = {
    gis_public: await createAnalyst(database, 'gis_public'),
    gis_exact: await createAnalyst(database, 'gis_exact'),
  };
  return { database, sql, analysts };
}
