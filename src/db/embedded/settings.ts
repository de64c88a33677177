// All virtual connections share one session of PostgreSQL, but each has the settings of its StartupMessage: they are put in place when
// it gets its turn and the session holds others.
//
// What a connection sets later lasts for its turn, usually a transaction. What can't be told apart, because the session is one: temporary
// tables, session-level advisory locks (transaction-level ones are fine), statements prepared in SQL (`prepare x as`), and
// set_config(…, false).
import { endOfString, readString } from './messages.ts';

/** SQL that puts the settings of a StartupMessage (postgres.js: `connection: {…}`) in place of whatever the session holds. */
export function readSettings(startup: Buffer): string {
  const calls: string[] = [];
  // Behind the length and the version: pairs of strings.
  for (let at = 8; startup[at]; ) {
    const valueAt = endOfString(startup, at);
    const name = readString(startup, at);
    // The session is UTF8, and so is postgres.js.
    if (!['user', 'database', 'client_encoding'].includes(name))
      calls.push(`pg_catalog.set_config(${quote(name)}, ${quote(readString(startup, valueAt))}, false)`);
    at = endOfString(startup, valueAt);
  }
  return ['reset session authorization', 'reset role', 'reset all', ...calls.map((call) => `select ${call}`)].join('; ');
}

function quote(text: string): string {
  return `E'${text.replace(/\\/g, '\\\\').replace(/'/g, "''")}'`;
}
