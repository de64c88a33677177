// What the outputs beside the interface read (O0.1): as gis_public, which can read nothing that not everybody may see.
import { codeOf, type Sql, type Transaction } from './client.ts';
import { toTeil, type Versioned } from './page.ts';

/** The service can't become gis_public: there is no such role, or it is no member. Outputs answer nothing then. */
export class OutputRoleError extends Error {
  readonly code = 'AUSGABE_ROLLE';
}

// No such role; no member of it. Of this statement they mean nothing else.
const roleStates = new Set(['22023', '42501', '42704']);

/**
 * Runs statements as gis_public, in a transaction that only reads, all of them at one moment.
 * @param tile where all lies that is read
 * @returns with the version of that moment: it is asked for before, because that role may not
 * @throws OutputRoleError where the service can't become that role: what it may read itself is never read instead
 */
export async function readPublic<T>(sql: Sql, run: (tx: Transaction) => Promise<T>, tile?: TilePlace): Promise<Versioned<T>> {
  return (await sql.begin('isolation level repeatable read read only', async (tx) => {
    const version = await becomePublic(tx, tile);
    return { value: await run(tx), ...version };
  })) as Versioned<T>;
}

/** A tile of the pyramid. */
export interface TilePlace {
  z: number;
  x: number;
  y: number;
}

/** The same of what is kept nowhere. */
export async function asPublic<T>(sql: Sql, run: (tx: Transaction) => Promise<T>): Promise<T> {
  return (await readPublic(sql, run)).value;
}

/**
 * Makes a transaction gis_public until its end.
 * @returns the version of the moment that it shows
 * @throws OutputRoleError as readPublic
 */
export async function becomePublic(tx: Transaction, tile?: TilePlace): Promise<Omit<Versioned<never>, 'value'>> {
  const { z = null, x = null, y = null } = tile ?? {};
  try {
    const [row] = await tx<{ stand: string; bloecke: string | null; teil: string | null }[]>`
      select api.get_stand_gezeigt() as stand, b.bloecke::text, api.get_stand_gezeigt_in(b.bloecke) as teil,
        set_config('role', 'gis_public', true)
      from api.list_block_of_tile(${z}::integer, ${x}::integer, ${y}::integer) b (bloecke)`;
    return { stand: row?.stand ?? '', teil: toTeil(row?.bloecke, row?.teil) };
  } catch (error) {
    if (roleStates.has(codeOf(error) ?? '')) throw new OutputRoleError('the service cannot become gis_public', { cause: error });
    throw error;
  }
}
