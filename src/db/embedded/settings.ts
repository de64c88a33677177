// All virtual connections share one session of PostgreSQL, but each has its own settings: those of its StartupMessage
// and those that it set since. They are put in place when a connection gets its turn and the session holds others'.
//
// What can't be told apart, because the session is one: temporary tables, session-level advisory locks (two connections
// never exclude each other; transaction-level ones are fine, a transaction has the engine for itself), statements
// prepared in SQL (`prepare x as`), and settings that a function sets with set_config(…, false) in its body.

/** Settings of one connection, by name. */
export type Settings = ReadonlyMap<string, string>;

/** What the text of a statement may change beyond its transaction. */
export interface Traits {
  settings: boolean;
  /** names of settings with a dot, which pg_settings doesn't list */
  custom: string[];
  listen: string | null;
  unlisten: string | null;
}

const noTraits: Traits = { settings: false, custom: [], listen: null, unlisten: null };
const mayMatter = /\b(?:set|set_config|reset|discard|listen|unlisten)\b/i;
const setsForSession = /\b(?:set(?!\s+(?:local|transaction|constraints)\b)|reset|discard)\b/i;
const localSetConfig = /\bset_config\s*\([^)]{0,300},\s{0,9}true\s{0,9}\)/gi;
const customNames = /(?:\bset\s+(?:session\s+)?"?|\bset_config\s*\(\s*')([a-z_][\w$]*\.[\w$.]+)/gi;
const channel = /^\s*(un)?listen\s+("(?:[^"]|"")+"|[\w$]+|\*)/i;

/**
 * Reads from a statement's text whether its connection's settings may differ afterwards. A false alarm costs one look
 * at pg_settings and only counts if the server answers SET, RESET or DISCARD; `set local` doesn't count.
 */
export function readTraits(sql: string): Traits {
  if (!mayMatter.test(sql)) return noTraits;
  const listening = channel.exec(sql);
  return {
    settings: setsForSession.test(sql) || /\bset_config\b/i.test(sql.replace(localSetConfig, '')),
    custom: Array.from(sql.matchAll(customNames), (match) => (match[1] as string).toLowerCase()),
    listen: listening && !listening[1] ? (listening[2] as string) : null,
    unlisten: listening?.[1] ? (listening[2] as string) : null,
  };
}

/** Settings that a StartupMessage asks for (postgres.js: `connection: {…}`), `options=-c name=value` included. */
export function readStartupSettings(fields: Iterable<[string, string]>): Settings {
  const settings = new Map<string, string>();
  for (const [name, value] of fields) {
    if (name === 'user' || name === 'database' || name === 'replication' || name.startsWith('_pq_.')) continue;
    // the session is UTF8 and so is every client that postgres.js is
    if (name === 'client_encoding') continue;
    if (name === 'options') {
      for (const match of value.matchAll(/(?:^|\s)(?:-c\s*|--)([\w.]+)=((?:\\.|[^\s\\])*)/g)) {
        settings.set((match[1] as string).toLowerCase(), (match[2] as string).replace(/\\(.)/g, '$1'));
      }
    } else {
      settings.set(name.toLowerCase(), value);
    }
  }
  return settings;
}

/** Equal for equal settings. */
export function settingsKey(settings: Settings): string {
  return JSON.stringify([...settings].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** SQL that puts these settings in place of whatever the session holds. */
export function applySettings(settings: Settings): string {
  // the role last: after it the others might not be allowed
  const last = ['session_authorization', 'role'];
  const ordered = [...settings].sort(([a], [b]) => last.indexOf(a) - last.indexOf(b));
  const calls = ordered.map(([name, value]) => `pg_catalog.set_config(${quote(name)}, ${quote(value)}, false)`);
  return [
    'reset session authorization',
    'reset role',
    'reset all',
    ...(calls.length > 0 ? [`select ${calls.join(', ')}`] : []),
  ].join('; ');
}

/** SQL that lists the settings which the session holds beyond its defaults. */
export function listSettings(custom: Iterable<string>): string {
  const named = [...custom].map(quote).join(', ');
  return `select name, setting from pg_catalog.pg_settings where source = 'session'
    union all select 'role', pg_catalog.current_setting('role') where pg_catalog.current_setting('role') <> 'none'
    union all select 'session_authorization', session_user::text where session_user <> 'postgres'${
      named
        ? `
    union all select name, pg_catalog.current_setting(name, true) from pg_catalog.unnest(array[${named}]) name
      where pg_catalog.current_setting(name, true) <> ''`
        : ''
    }`;
}

function quote(text: string): string {
  return `E'${text.replace(/\\/g, '\\\\').replace(/'/g, "''")}'`;
}
