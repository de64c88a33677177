// npm run mutants [-- part of a name]: breaks masking in one small way after the other and shows that the tests notice
// each. Needs DATABASE_URL. Ends with 1 when a breakage survives.
import { spawn } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../src/db/client.ts';
import { readCode } from '../src/db/migrate.ts';
import { root } from './support/child.ts';
import { breakCode, mutants } from './support/mutants.ts';

const tests = [
  'test/http/schutz-property.test.ts',
  'test/http/schutz.test.ts',
  'test/safety/roles.test.ts',
  'test/sql/schutz.test.ts',
  'test/sql/catalogue-lock.test.ts',
  'test/sql/projection.test.ts',
  'test/http/list.test.ts',
  'test/http/abgleich.test.ts',
  'test/http/abgleich-property.test.ts',
  'test/sql/raster.test.ts',
  'test/sql/raster-zahl.test.ts',
  'test/http/ogc.test.ts',
  'test/http/tiles.test.ts',
  'test/http/outputs-twins.test.ts',
  'test/http/pruefung.test.ts',
  'test/sql/pruefung.test.ts',
];
const fileTests = [
  'test/export/archive.test.ts',
  'test/export/files.test.ts',
  'test/jobs/export.test.ts',
  'test/sql/medium.test.ts',
];
const deskTests = [
  'test/http/zustaendig.test.ts',
  'test/http/pruefung-entscheidungen.test.ts',
  'test/sql/pruefung-automatik.test.ts',
];
const mailTests = ['test/jobs/mitteilung.test.ts', 'test/jobs/sweep.test.ts', 'test/sql/mandant.test.ts'];
const importTests = ['test/catalog/sichtbeobachtungen.test.ts'];
const keptTests = ['test/http/kept-property.test.ts'];
const testsOf = (name: string) =>
  ({ files: fileTests, desk: deskTests, mails: mailTests, kept: keptTests, imports: importTests })[
    name.split(': ')[0] as string
  ] ?? tests;

const databaseUrl = process.env.DATABASE_URL;
if (!databaseUrl) {
  console.error('npm run mutants braucht ein PostgreSQL: DATABASE_URL ist nicht gesetzt.');
  process.exit(1);
}
const codeDir = join(root, 'sql/code/');
const code = readCode(codeDir);
const wanted = process.argv[2] ?? '';
const chosen = mutants.filter(({ name }) => name.includes(wanted));

for (const chosenTests of new Set(chosen.map(({ name }) => testsOf(name)))) {
  const unbroken = await runTests(code, chosenTests);
  if (unbroken.failed === null && unbroken.exitCode === 0) continue;
  console.error(`Without any breakage the tests must pass:\n${unbroken.output}`);
  process.exit(1);
}
let survivors = 0;
for (const mutant of chosen) {
  const { failed, exitCode, output } = await runTests(breakCode(code, mutant), testsOf(mutant.name));
  if (failed === null && exitCode !== 0) throw new Error(`${mutant.name}: the tests did not run\n${output.slice(-2000)}`);
  if (failed === null) survivors++;
  console.log(failed === null ? `SURVIVED  ${mutant.name}` : `caught    ${mutant.name}\n          by ${failed}`);
}
console.log(`${chosen.length - survivors} of ${chosen.length} caught`);
process.exitCode = survivors > 0 || chosen.length === 0 ? 1 : 0;

interface Outcome {
  /** The first test that fails, with its file. */
  failed: string | null;
  exitCode: number | null;
  output: string;
}

/** Runs tests on these SQL files until one fails. */
async function runTests(sources: Map<string, string>, files: string[]): Promise<Outcome> {
  const dir = await mkdtemp(join(tmpdir(), 'sighting-mutant-'));
  await cp(codeDir, dir, { recursive: true });
  for (const [file, text] of sources) await writeFile(join(dir, file), text);
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--import', 'tsx', 'test/support/run.ts', '--test-reporter=tap', ...files],
    {
      cwd: root,
      env: { EIGENSCHAFT_ANFRAGEN: '300', ...process.env, TEST_CODE_DIR: dir },
      stdio: ['ignore', 'pipe', 'pipe'],
      // a group of its own, so that the runner and its test files can be stopped together
      detached: true,
    },
  );
  let output = '';
  let failed: string | null = null;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      const [, name, file] =
        /not ok \d+ - ([^\n]*)\n *---\n[\s\S]{0,120}? location: '[^'\n]*?(test\/[\w/-]+\.test\.ts)/.exec(output) ?? [];
      if (failed !== null || file === undefined || child.pid === undefined) return;
      failed = `${file}: ${name}`;
      process.kill(-child.pid);
    });
  }
  const exitCode = await new Promise<number | null>((resolve) => child.on('close', resolve));
  await rm(dir, { recursive: true });
  await dropDatabases(`sighting_test_${child.pid}`);
  return { failed, exitCode, output };
}

// Those of tests that were stopped, or that failed and kept them for a look. One that was being dropped then may be gone by now.
async function dropDatabases(prefix: string): Promise<void> {
  const { sql, close } = await openDatabase({ databaseUrl: databaseUrl ?? '', dataDir: '' });
  const rows = await sql<{ name: string }[]>`
    select datname as name from pg_database where datname = ${prefix} or starts_with(datname, ${`${prefix}_`})`;
  for (const { name } of rows) await sql.unsafe(`drop database if exists ${name} with (force)`);
  await close();
}
