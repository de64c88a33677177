// Copies of sql/code with something changed, as another release would bring it; rights to compare.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sql } from '../../src/db/client.ts';
import { root } from './child.ts';
import { closeAtEnd } from './end.ts';

/** A copy of sql/code with one file changed, and so with another hash. Returns its folder, which is removed after the file's tests. */
export function changeCode(file: string, change: (text: string) => string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sighting-code-'));
  closeAtEnd(() => rmSync(folder, { recursive: true }));
  cpSync(join(root, 'sql/code'), folder, { recursive: true });
  writeFileSync(join(folder, file), change(readFileSync(join(folder, file), 'utf8')));
  return folder;
}

/** The same with something added at the end of a file. */
export function copyCode(added: string, file = 'raum/projection.sql'): string {
  return changeCode(file, (text) => `${text}\n${added}\n`);
}

/** Rights as PostgreSQL writes them down, in order, with the owner of the service's tables by no name. */
export async function leaveOwnerOut(sql: Sql, texts: string[]): Promise<string[]> {
  const [row] = await sql<{ owner: string }[]>`
    select nspowner::regrole::text as owner from pg_namespace where nspname = 'portal'`;
  return texts.map((text) => text.replaceAll(`${row?.owner}=`, 'owner=').replaceAll(`/${row?.owner}`, '/owner')).sort();
}
