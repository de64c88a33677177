// The service as operators run it: as a role of fewest rights, and through a pooler where that is asked for.
import { openDatabase } from '../../src/db/client.ts';
import { atEnd } from '../bench/process.ts';
import { giveSettings, startPooler, withoutPooler } from '../support/pooler.ts';

const role = 'portal_web';
const password = 'of the faults';
// Nobody is kept waiting for a server that is away, and one that was is asked every second.
const patientSettings = ['query_wait_timeout = 1', 'server_login_retry = 1'];

/**
 * Makes the role, whose rights the service gives it when it migrates.
 * @param databaseUrl as the owner
 * @returns settings of the service
 */
export async function asServiceRole(databaseUrl: string, hasPooler: boolean): Promise<Record<string, string>> {
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: '' });
  await sql.unsafe(`create role ${role} login password '${password}' in role portal_dienst`);
  const direct = Object.assign(new URL(databaseUrl), { username: role, password }).href;
  const env = { MIGRATE_DATABASE_URL: databaseUrl, DATABASE_URL: direct };
  if (hasPooler) {
    if (withoutPooler) throw new Error(withoutPooler);
    await giveSettings(sql, role);
  }
  await close();
  if (!hasPooler) return env;
  const pooler = await startPooler(databaseUrl, { [role]: password }, patientSettings);
  atEnd(() => pooler.stop());
  return { ...env, DATABASE_URL: pooler.through(direct), DIRECT_DATABASE_URL: direct };
}
