// docs/privacy.md against the database: no column about a person without a line, no line without a column (D7.5).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { loadConfig, settings } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { openTestDatabase } from './support/database.ts';

const text = readFileSync(new URL('../docs/privacy.md', import.meta.url), 'utf8');
const [, chapter = ''] = text.split('\n## What is stored\n');
const [stored = ''] = chapter.split('\n## ');
const namesIn = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);

/** Table → columns, as the document has them. */
const described = new Map(
  [...stored.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, table = '', columns = '']) => [table, namesIn(columns).sort()]),
);
const [, impersonal = ''] = stored.split('Nothing about people is in');
const without = namesIn(impersonal);

describe('docs/privacy.md', () => {
  let sql: Sql;
  let columns: Map<string, string[]>;
  before(async () => {
    ({ sql } = await openTestDatabase());
    const rows = await sql<{ name: string; columns: string }[]>`
      select c.relname::text as name, string_agg(a.attname::text, ',') as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'portal'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
      group by c.oid, c.relname`;
    columns = new Map(rows.map((row) => [row.name, row.columns.split(',').sort()]));
  });

  it('has each table once: with all its columns, or among those without anything about people', () => {
    assert.deepEqual([...described.keys(), ...without].sort(), [...columns.keys()].sort());
    for (const [table, names] of described) assert.deepEqual(names, columns.get(table), table);
  });

  it('has no table among those without anything about people that names an account, or holds a text that somebody wrote', () => {
    const personal = /^(nutzer|experte|bemerkung$|email|vorname|nachname|loginname|autor$)/;
    const wrong = without.flatMap((table) =>
      (columns.get(table) ?? []).filter((name) => personal.test(name)).map((name) => `${table}.${name}`),
    );
    assert.deepEqual(wrong, []);
  });

  it('says how long things stay as the settings have it', () => {
    const { keepDays, tokenTtlDays } = loadConfig({});
    const days = {
      TOKEN_TTL_DAYS: tokenTtlDays,
      KEEP_ATTEMPTS_DAYS: keepDays.attempts,
      KEEP_NETWORKS_DAYS: keepDays.networks,
      KEEP_UNCONFIRMED_DAYS: keepDays.unconfirmed,
      KEEP_MAILS_DAYS: keepDays.mails,
      KEEP_DEAD_MAILS_DAYS: keepDays.deadMails,
    };
    assert.deepEqual(
      Object.keys(settings).filter((name) => name.startsWith('KEEP_') && !(name in days)),
      [],
    );
    for (const [name, count] of Object.entries(days)) {
      const rows = [...text.matchAll(new RegExp(`^\\|[^|]+\\| (\\d+) days?\\b[^|]*\\| \`${name}\` \\|$`, 'gm'))];
      assert.ok(rows.length > 0, name);
      for (const [line, said] of rows) assert.equal(Number(said), count, line);
    }
  });
});
