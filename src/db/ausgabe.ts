// What the outputs beside the interface read (O0.1): as gis_public, which can read nothing that not everybody may see.
import type { Sql, Transaction } from './client.ts';

/** The service can't become gis_public: there is no such role, or it is no member. Outputs answer nothing then. */
export class OutputRoleError extends Error {
  readonly code = 'AUSGABE_ROLLE';
}

// No such role; no member of it. Of this statement they mean nothing else.
const roleStates = new Set(['22023', '42501', '42704']);

/**
 * Runs statements as gis_public, in a transaction that only reads.
 * @throws OutputRoleError where the service can't become that role: what it may read itself is never read instead
 */
export async function asPublic<T>(sql: Sql, run: (tx: Transaction) => Promise<T>): Promise<T> {
  return (await sql.begin('read only', async (tx) => {
    try {
      await tx`set local role gis_public`;
    } catch (error) {
      if (error instanceof Error && 'code' in error && roleStates.has(String(error.code)))
        throw new OutputRoleError('the service cannot become gis_public', { cause: error });
      throw error;
    }
    return run(tx);
  })) as T;
}

/** A tenant as outputs name it. */
export interface OutputMandant {
  kuerzel: string;
  name: string;
}

export async function listOutputMandant(sql: Sql): Promise<OutputMandant[]> {
  const rows = await asPublic(sql, (tx) => tx<OutputMandant[]>`select kuerzel, name from ausgabe.list_mandant()`);
  return [...rows];
}
