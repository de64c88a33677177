// What a database must be to carry the service, and what an operator is told when it is not.
import { requestSettings } from './client.ts';
import { codeOf, DatabaseError, type Sql } from './connection.ts';
import { oneValue } from './row.ts';

/** What an operator is told of a database that can only be read. */
export const readOnlySentence =
  'Die Datenbank ist schreibgeschützt (Ersatzserver, voller Speicher oder default_transaction_read_only); bitte noch einmal, sobald sie wieder beschrieben werden kann.';

/** The setting that an address of the database comes from. */
export type UrlSetting = 'DATABASE_URL' | 'DATABASE_READ_URL' | 'DIRECT_DATABASE_URL' | 'MIGRATE_DATABASE_URL';

/**
 * Checks that the database can carry the service.
 * @throws DatabaseError in one line: no connection, too old, no PostGIS, wrong encoding or collation, read-only
 */
export async function checkDatabase(sql: Sql, setting: UrlSetting = 'DATABASE_URL'): Promise<void> {
  let facts: {
    version: number;
    version_text: string;
    encoding: string;
    lowered: string;
    postgis: string | null;
    postgis_schema: string | null;
    read_only: boolean;
  };
  try {
    [facts] = (await sql`
      select current_setting('server_version_num')::integer as version,
        current_setting('server_version') as version_text,
        current_setting('server_encoding') as encoding,
        lower('Ä') as lowered,
        coalesce(
          (select extversion from pg_extension where extname = 'postgis'),
          (select default_version from pg_available_extensions where name = 'postgis')) as postgis,
        (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'postgis') as postgis_schema,
        current_setting('transaction_read_only') = 'on' as read_only
    `) as unknown as [typeof facts];
  } catch (error) {
    if (error instanceof Error && /^unsupported startup parameter/.test(error.message)) {
      throw new DatabaseError(
        setting === 'DATABASE_URL'
          ? 'Vor der Datenbank steht ein Pooler (PgBouncer), der Einstellungen ablehnt: Die Adresse der Datenbank selbst gehört in DIRECT_DATABASE_URL.'
          : `${setting} führt zu einem Pooler (PgBouncer): Dort muss die Adresse der Datenbank selbst stehen.`,
      );
    }
    throw unreachable(error, setting);
  }
  if (facts.version < 150000) {
    throw new DatabaseError(`Die Datenbank ist PostgreSQL ${facts.version_text}, nötig ist 15 oder neuer.`);
  }
  if (facts.postgis === null) {
    throw new DatabaseError('Auf dem Datenbankserver fehlt PostGIS. Unter Debian: apt-get install postgresql-15-postgis-3');
  }
  if (facts.read_only) {
    throw new DatabaseError(readOnlySentence);
  }
  const [major = 0, minor = 0] = facts.postgis.split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 3)) {
    throw new DatabaseError(`Die Datenbank hat PostGIS ${facts.postgis}, nötig ist 3.3 oder neuer.`);
  }
  if (facts.postgis_schema !== null && facts.postgis_schema !== 'public') {
    throw new DatabaseError(`PostGIS liegt im Schema ${facts.postgis_schema}, nötig ist das Schema public.`);
  }
  if (facts.encoding !== 'UTF8' || facts.lowered !== 'ä') {
    throw new DatabaseError(
      `Die Datenbank kennt keine Umlaute (Zeichensatz ${facts.encoding}). Nötig sind UTF8 und eine Locale wie C.UTF-8 oder de_DE.UTF-8.`,
    );
  }
}

/**
 * Checks that the connections of requests have the settings without which one of them could keep all others waiting (P2.1): a pooler
 * takes them away, and some say nothing.
 * @param isPooled whether the operator said that there is one
 * @throws DatabaseError in one line, with the statements that set them
 */
export async function checkSettings(sql: Sql, isPooled: boolean): Promise<void> {
  let rows: { name: string; setting: string }[];
  let role = '';
  try {
    const names = Object.keys(requestSettings);
    const found = await sql<{ name: string; setting: string; role: string }[]>`
      select s.name, s.setting, quote_ident(session_user) as role from pg_settings s
      where s.name = any (string_to_array(${names.join()}, ','))`;
    rows = found;
    role = found[0]?.role ?? '';
  } catch (error) {
    throw unreachable(error);
  }
  const arrived = new Map(rows.map(({ name, setting }) => [name, setting]));
  const missing = Object.entries(requestSettings).filter(([name, value]) => arrived.get(name) !== String(value));
  if (missing.length === 0) return;
  const statements = missing.map(([name, value]) => `alter role ${role} set ${name} = ${value};`).join(' ');
  throw new DatabaseError(
    isPooled
      ? `Durch den Pooler vor der Datenbank kommen Einstellungen nicht an. Als Administrator: ${statements} Danach den Pooler neu verbinden.`
      : `Einstellungen der Verbindung kommen nicht an, wohl wegen eines Poolers vor der Datenbank. Dann gehört die Adresse der Datenbank selbst in DIRECT_DATABASE_URL, und als Administrator: ${statements}`,
  );
}

/** Whether the database can only be read at present: after a failover, or when its storage is full. */
export async function isReadOnly(sql: Sql): Promise<boolean> {
  return oneValue<boolean>(sql`select current_setting('transaction_read_only') = 'on'`);
}

/**
 * What keeps the database from tidying up.
 * @returns age in seconds of the oldest open transaction that this role may see; numbers of transactions used since the oldest that
 *   the server still needs
 */
export async function getTransaktionen(sql: Sql): Promise<{ oldestSeconds: number; numbersUsed: number } | null> {
  const [row] = await sql<{ oldestSeconds: number; numbersUsed: number }[]>`
    select t.aelteste_s as "oldestSeconds", t.nummern as "numbersUsed" from api.get_transaktionen() t`;
  return row ?? null;
}

/** What an operator is told when a connection failed. */
export function unreachable(error: unknown, setting: UrlSetting = 'DATABASE_URL'): DatabaseError {
  return new DatabaseError(
    `Die Datenbank ist nicht erreichbar (${describeConnectionError(error)}). Stimmt ${setting}, und läuft der Server?`,
  );
}

/**
 * Checks that two addresses lead to one database.
 * @throws DatabaseError where they don't: migrations, or the queue, would be in another portal's
 */
export async function checkSameDatabase(sql: Sql, other: Sql, setting: UrlSetting): Promise<void> {
  const name = async (each: Sql) => {
    return oneValue<string>(each`
      select concat((select system_identifier from pg_control_system()), '/',
        (select oid from pg_database where datname = current_database()))`);
  };
  if ((await name(sql)) !== (await name(other)))
    throw new DatabaseError(`${setting} führt zu einer anderen Datenbank als DATABASE_URL.`);
}

/**
 * Checks the address for reading, where it answers: the primary is read in its place while it does not.
 * @param report told where it does not
 * @throws DatabaseError where it leads to another database, or settings don't arrive
 */
export async function checkReads(sql: Sql, reads: Sql, isPooled: boolean, report: (line: string) => void): Promise<void> {
  try {
    await reads`select 1`;
  } catch (error) {
    report(
      `DATABASE_READ_URL antwortet nicht (${describeConnectionError(error)}); gelesen wird von der primären Datenbank, bis sie antwortet.`,
    );
    return;
  }
  await checkSameDatabase(sql, reads, 'DATABASE_READ_URL');
  await checkSettings(reads, isPooled);
}

// What Node.js says of a certificate whose authority it does not know.
const untrusted = [
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
];
const untrustedReason =
  'wer das Zertifikat des Servers ausgestellt hat, ist unbekannt; NODE_EXTRA_CA_CERTS nennt die eigene Zertifizierungsstelle';

// Only what can't hold a password or a host's name: the code.
function describeConnectionError(error: unknown): string {
  const code = codeOf(error) ?? 'unbekannter Fehler';
  const reasons: Record<string, string> = {
    ECONNREFUSED: 'Verbindung abgelehnt',
    ECONNRESET: 'die Verbindung brach ab; mit sslmode vielleicht, weil der Server kein TLS anbietet',
    ENOTFOUND: 'Host unbekannt',
    CONNECT_TIMEOUT: 'keine Antwort',
    '08P01': 'dort steht ein Pooler, der Einstellungen ablehnt; nötig ist die Adresse der Datenbank selbst',
    '28P01': 'falsches Passwort',
    '28000': 'Anmeldung abgelehnt, vielleicht ohne sslmode=require',
    '42704': 'der Server kennt einen Parameter der Adresse nicht',
    ERR_TLS_CERT_ALTNAME_INVALID: 'das Zertifikat des Servers gilt für einen anderen Namen als den in der Adresse',
    CERT_HAS_EXPIRED: 'das Zertifikat des Servers ist abgelaufen',
    ...Object.fromEntries(untrusted.map((each) => [each, untrustedReason])),
    '3D000': 'diese Datenbank gibt es nicht',
  };
  return reasons[code] ?? code;
}
