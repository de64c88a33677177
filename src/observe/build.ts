// What the service is made of, as one text that differs with all of it.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const parts = ['package-lock.json', 'src/**/*.{ts,js}', 'sql/code/**/*.{sql,txt}'];

/** The release, as package.json names it. */
export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

/** A hash over the code and the versions of its packages: answers of two builds may differ although their data don't. */
export function readBuild(): string {
  const hash = createHash('sha256');
  for (const path of parts.flatMap((pattern) => globSync(pattern, { cwd: root }).sort()))
    for (const part of [`${path}\0`, readFileSync(join(root, path)), '\0']) hash.update(part);
  return hash.digest('base64url').slice(0, 16);
}
