// sql/code as it is applied and hashed: its files in the order of its manifest.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names the files, one a line; what follows `#` is for readers. */
export const manifestFile = 'manifest.txt';

/** Path of each file below the folder → its text, in order. */
export function readCode(dir: string): Map<string, string> {
  const lines = readFileSync(join(dir, manifestFile), 'utf8').split('\n');
  const paths = lines.map((line) => line.replace(/#.*/, '').trim()).filter((path) => path !== '');
  return new Map(paths.map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
}
