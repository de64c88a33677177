// Files to publish as tests make and read them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPublic } from '../../src/db/ausgabe.ts';
import type { Sql } from '../../src/db/client.ts';
import { type ExportDatei, listExport } from '../../src/db/export.ts';
import { type WrittenFile, writeExport } from '../../src/export/files.ts';
import { dateienOf } from '../../src/export/licences.ts';
import { closeAtEnd } from './end.ts';
import { readZip } from './zip.ts';

export const origin = 'https://n.example.org';

/** Makes a tenant publish. */
export async function setLizenz(sql: Sql, kuerzel: string, lizenz: string | null = 'CC-BY-4.0'): Promise<void> {
  await sql`
    update portal.mandant
    set lizenz = ${lizenz}, herausgeber = 'Landesamt & Söhne', kontakt = 'arten@example.org', titel = 'Funde <im> Land',
      beschreibung = 'Was gemeldet wurde'
    where kuerzel = ${kuerzel}`;
}

/** Writes files of a tenant, all that its licence allows unless said otherwise. */
export async function writeFiles(
  sql: Sql,
  kuerzel: string,
  dateien?: ExportDatei[],
): Promise<{ directory: string; written: WrittenFile[]; bytesOf(datei: ExportDatei): Buffer }> {
  const directory = mkdtempSync(join(tmpdir(), 'export-'));
  closeAtEnd(async () => rmSync(directory, { recursive: true, force: true }));
  const [mandant] = await listExport(sql, kuerzel);
  if (!mandant) throw new Error(`${kuerzel} publishes nothing`);
  const { value: written } = await readPublic(sql, (tx) =>
    writeExport(tx, mandant, dateien ?? dateienOf(mandant.lizenz), { directory, origin }),
  );
  return { directory, written, bytesOf: (datei) => readFileSync(join(directory, datei)) };
}

/** Rows of a file whose values are divided by tabs, by the names in its first line. */
export function readTabbed(text: string): Record<string, string>[] {
  const [head = '', ...lines] = text.split('\n');
  if (lines.pop() !== '') throw new Error('the last line has no end');
  const names = head.split('\t');
  return lines.map((line) => {
    const values = line.split('\t');
    if (values.length !== names.length) throw new Error(`${values.length} values instead of ${names.length}: ${line}`);
    return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
  });
}

/** Texts of an archive by their names, and the rows of occurrence.txt. */
export async function readArchive(bytes: Buffer): Promise<{ texts: Map<string, string>; occurrences: Record<string, string>[] }> {
  const texts = new Map([...(await readZip(bytes))].map(([name, content]) => [name, content.toString()]));
  return { texts, occurrences: readTabbed(texts.get('occurrence.txt') ?? '') };
}

/** Corners of a polygon in well-known text. */
export function cornersOf(wkt: string): [lon: number, lat: number][] {
  const [, ring = ''] = /^POLYGON ?\(\(([^()]+)\)\)$/.exec(wkt) ?? [];
  return ring.split(',').map((corner) => corner.trim().split(' ').map(Number) as [number, number]);
}
