// Older code never replaces newer (M9): by its release number, which every change of sql/code raises, and by migrations that it
// doesn't know.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Database } from '../../src/db/client.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { openTestDatabase } from '../support/database.ts';
import { hashCode, hashMigrations, readReleases, version } from '../support/releases.ts';

const releases = readReleases();
const numbersOf = (release: string) => release.split('.').map(Number);

describe('sql/releases.json', () => {
  it('holds this release as it is: whoever changes sql/code raises the version in package.json, then npm run release', () => {
    assert.equal(releases.code[version], hashCode());
  });

  it('ends with this release, in ascending order, none with the code of an older one, unless it left sql/code as it was', () => {
    const all = Object.keys(releases.code);
    assert.equal(all.at(-1), version);
    const sorted = [...all].sort((a, b) => {
      const [left, right] = [numbersOf(a), numbersOf(b)];
      const at = left.findIndex((number, index) => number !== right[index]);
      return (left[at] ?? 0) - (right[at] ?? 0);
    });
    assert.deepEqual(all, sorted);
    const codes = Object.values(releases.code);
    assert.equal(codes.filter((code, index) => codes.indexOf(code) < index && codes[index - 1] !== code).length, 0);
  });

  it('holds every migration as it was when it landed: it is never edited, because it has run already', () => {
    assert.deepEqual(hashMigrations(), releases.migrations);
  });
});

describe('an older release', () => {
  let database: Database;
  before(async () => {
    database = await openTestDatabase();
  });
  const readCodeOf = async () => {
    const [row] = await database.sql`select code_release::text as release, code_hash as hash from portal.installation`;
    return { ...row };
  };

  it('leaves the functions of a newer one alone', async () => {
    const present = await readCodeOf();
    const older = numbersOf(version);
    older[2] = -1;
    assert.equal(await migrateDatabase(database, { release: older }), 'database is newer');
    assert.deepEqual(await readCodeOf(), present);
  });

  it('leaves everything alone that stands on migrations which it does not know', async () => {
    const present = await readCodeOf();
    // The same release number: what only a change of tables tells apart.
    await database.sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`;
    try {
      assert.equal(await migrateDatabase(database), 'database is newer');
      assert.deepEqual(await readCodeOf(), present);
    } finally {
      await database.sql`delete from drizzle.__drizzle_migrations where hash = 'newer'`;
    }
    assert.equal(await migrateDatabase(database), 'unchanged');
  });
});
