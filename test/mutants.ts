// npm run mutants [-- part of a name]: breaks masking in one small way after the other and shows that the tests notice
// each. Needs DATABASE_URL. Ends with 1 when a breakage survives.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/db/client.ts';
import { breakCode, type Mutant, mutants, readCode } from './support/mutants.ts';

const tests = [
  'test/sql/schutz.test.ts',
  'test/http/schutz.test.ts',
  'test/http/schutz-property.test.ts',
  'test/sql/catalogue-lock.test.ts',
  'test/sql/projection.test.ts',
];

const databaseUrl = process.env.DATABASE_URL;
if (!databaseUrl) {
  console.error('npm run mutants braucht ein PostgreSQL: DATABASE_URL ist nicht gesetzt.');
  process.exit(1);
}
const code = readCode(fileURLToPath(new URL('../sql/code/', import.meta.url)));
const wanted = process.argv[2] ?? '';
const chosen = mutants.filter(({ name }) => name.includes(wanted));

const unbroken = await runTests(code);
if (unbroken.failed.length > 0 || unbroken.exitCode !== 0) {
  console.error(`Without any breakage the tests must pass:\n${unbroken.output}`);
  process.exit(1);
}
let survivors = 0;
for (const mutant of chosen) {
  const outcome = await tryMutant(mutant);
  if (outcome.length === 0) survivors++;
  console.log(`${outcome.length > 0 ? 'caught  ' : 'SURVIVED'}  ${mutant.name}  [${outcome.join(', ')}]`);
}
console.log(`${chosen.length - survivors} of ${chosen.length} caught`);
process.exitCode = survivors > 0 || chosen.length === 0 ? 1 : 0;

/** The test files that notice it. */
async function tryMutant(mutant: Mutant): Promise<string[]> {
  const { failed, exitCode, output } = await runTests(breakCode(code, mutant));
  if (failed.length === 0 && exitCode !== 0) throw new Error(`${mutant.name}: the tests did not run\n${output}`);
  return failed;
}

async function runTests(sources: Record<string, string>): Promise<{ failed: string[]; exitCode: number | null; output: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'sighting-mutant-'));
  for (const [file, text] of Object.entries(sources)) await writeFile(join(dir, file), text);
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--import', 'tsx', 'test/support/run.ts', '--test-reporter=spec', ...tests],
    {
      cwd: fileURLToPath(new URL('../', import.meta.url)),
      env: { EIGENSCHAFT_ANFRAGEN: '300', ...process.env, TEST_CODE_DIR: dir },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const exitCode = await new Promise<number | null>((resolve) => child.on('close', resolve));
  await rm(dir, { recursive: true });
  await dropKeptDatabases(`sighting_test_${child.pid}`);
  const failed = new Set([...output.matchAll(/^test at (\S+?\.test\.ts):/gm)].map(([, file = '']) => file));
  return { failed: [...failed].sort(), exitCode, output };
}

// A failed test keeps its database for a look; here every test is meant to fail.
async function dropKeptDatabases(prefix: string): Promise<void> {
  const { sql, close } = await openDatabase({ databaseUrl: databaseUrl ?? '', dataDir: '' });
  const rows = await sql<{ name: string }[]>`
    select datname as name from pg_database where datname = ${prefix} or starts_with(datname, ${`${prefix}_`})`;
  for (const { name } of rows) await sql.unsafe(`drop database ${name} with (force)`);
  await close();
}
