// npm run release: records what this release consists of in sql/releases.json, which a test compares with what is there.
// A release number stands for one sql/code: by it an older process knows that it must not put its functions back.
import { writeFileSync } from 'node:fs';
import { hashCode, hashMigrations, readReleases, releasesPath, version } from './releases.ts';

const releases = readReleases();
const code = hashCode();
const recorded = releases.code[version];
if (recorded !== undefined && recorded !== code && !process.argv.includes('--again')) {
  console.error(
    `Release ${version} is recorded with another sql/code. Raise the version in package.json; or, when ${version} never left this checkout, npm run release -- --again`,
  );
  process.exit(1);
}
// Migrations that are recorded stay as they were: the test says when one was edited.
const migrations = { ...hashMigrations(), ...releases.migrations };
writeFileSync(releasesPath, `${JSON.stringify({ code: { ...releases.code, [version]: code }, migrations }, null, 2)}\n`);
