// What releases consist of, as it is recorded in sql/releases.json.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readCode } from '../../src/db/migrate.ts';
import { root } from './child.ts';

export const releasesPath = join(root, 'sql/releases.json');
export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

export interface Releases {
  /** Release → hash of sql/code. */
  code: Record<string, string>;
  /** Migration → hash of its text. */
  migrations: Record<string, string>;
}

export function readReleases(): Releases {
  const { code = {}, migrations = {} } = JSON.parse(readFileSync(releasesPath, 'utf8')) as Partial<Releases>;
  return { code, migrations };
}

/** Hash of all files of sql/code in the order of its manifest, with their paths. */
export function hashCode(): string {
  return hashOf([...readCode(join(root, 'sql/code'))].map(([path, text]) => `${path}\0${text}`).join('\0'));
}

export function hashMigrations(): Record<string, string> {
  const files = globSync('sql/migrations/*.sql', { cwd: root }).sort();
  return Object.fromEntries(files.map((file) => [basename(file), hashOf(readFileSync(join(root, file), 'utf8'))]));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
