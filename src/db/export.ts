// Files to publish (O5): which there are, and the transaction in which those of a tenant are made.
import { becomePublic } from './ausgabe.ts';
import type { lizenzen } from './catalogue.ts';
import type { Sql, Transaction } from './client.ts';
import { oneValue } from './row.ts';

/** Files of a tenant, as the last part of their address. */
export const exportDateien = [
  'dwca.zip',
  'sichtbeobachtung.csv',
  'sichtbeobachtung.geojson',
  'sichtbeobachtung.gpkg',
  'cube.csv',
] as const;
export type ExportDatei = (typeof exportDateien)[number];

/** What a tenant says of its files. */
export interface ExportMandant {
  /** Its kuerzel. */
  mandant: string;
  name: string;
  /** Its first domain. */
  domain: string;
  lizenz: (typeof lizenzen)[number];
  herausgeber: string;
  /** A mail address. */
  kontakt: string;
  titel: string;
  beschreibung: string;
}

/** A file that is stored. */
export interface StoredExport {
  datei: ExportDatei;
  /** Its name in the storage. */
  objekt: string;
  bytes: number;
  /** Records in it; squares in cube.csv. */
  anzahl: number;
  /** Hexadecimal. */
  sha256: string;
}

/** A tenant that publishes, its files and how its last run went. */
export interface ExportStand extends ExportMandant {
  /** Since when a file has this content: `stand`. */
  dateien: (StoredExport & { stand: Date })[];
  /** False: a change made them wrong, and new ones are not whole yet. */
  gueltig: boolean;
  /** When the last run ended; null before the first one. */
  beendet: Date | null;
  /** Why it failed; null: it did not. */
  fehler: string | null;
}

/**
 * Tenants that publish.
 * @param kuerzel one of them, in any case; null for all
 */
export async function listExport(sql: Sql | Transaction, kuerzel: string | null): Promise<ExportStand[]> {
  type Row = ExportMandant &
    Omit<StoredExport, 'datei'> & { datei: ExportDatei | null; stand: Date } & Pick<
      ExportStand,
      'gueltig' | 'beendet' | 'fehler'
    >;
  const rows = await sql<Row[]>`select * from api.list_export(kuerzel => ${kuerzel}::text)`;
  const found = new Map<string, ExportStand>();
  for (const { datei, objekt, bytes, anzahl, sha256, stand, ...about } of rows) {
    const entry = found.get(about.mandant) ?? { ...about, dateien: [] };
    found.set(about.mandant, entry);
    if (datei !== null)
      entry.dateien.push({ datei, objekt, bytes: Number(bytes), anzahl: Number(anzahl), sha256, stand: new Date(stand) });
  }
  return [...found.values()];
}

/** Whether there is a tenant with this abbreviation. */
export function isMandant(sql: Sql, kuerzel: string): Promise<boolean> {
  return oneValue(sql`select api.is_mandant(kuerzel => ${kuerzel}::text)`);
}

/**
 * Tenants whose files are to be made.
 * @param all else those that lack files or whose files are wrong
 */
export async function listExportFaellig(sql: Sql, all: boolean): Promise<string[]> {
  const rows = await sql<{ kuerzel: string }[]>`select kuerzel from api.list_export_faellig(alle => ${all}::boolean) kuerzel`;
  return rows.map(({ kuerzel }) => kuerzel);
}

/** Notes how the last run for a tenant ended; null: well. */
export async function setExportLauf(sql: Sql, kuerzel: string, fehler: string | null): Promise<void> {
  await sql`select api.set_export_lauf(kuerzel => ${kuerzel}::text, fehler => ${fehler}::text)`;
}

/**
 * Makes the files of a tenant in one transaction, of one moment: what is committed later and hides something keeps them from being served.
 * @param make reads as gis_public and stores; told null for a tenant that publishes nothing (any more)
 * @returns names in the storage that are not used any more
 * @throws 55P03 (a database error) while another run is under way
 */
export async function runExport(
  sql: Sql,
  kuerzel: string,
  make: (tx: Transaction, mandant: ExportStand | null) => Promise<StoredExport[]>,
): Promise<string[]> {
  return (await sql.begin('isolation level repeatable read', async (tx) => {
    await tx`select api.require_export_lock()`;
    const [mandant = null] = await listExport(tx, kuerzel);
    await becomePublic(tx);
    const stored = await make(tx, mandant);
    await tx`select set_config('role', 'none', true)`;
    return oneValue<string[]>(tx`
      select array_to_json(api.set_export_datei(kuerzel => ${kuerzel}::text, dateien => ${JSON.stringify(stored)}::text))`);
  })) as string[];
}

/**
 * Runs this while nobody makes files, told the names in the storage that are in use.
 * @throws 55P03 (a database error) while a run is under way
 */
export async function runExportSweep(sql: Sql, sweep: (used: ReadonlySet<string>) => Promise<void>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select api.require_export_lock()`;
    const stands = await listExport(tx, null);
    await sweep(new Set(stands.flatMap(({ dateien }) => dateien.map(({ objekt }) => objekt))));
  });
}

/** Forgets all files: a backup has none of them. */
export async function deleteExportDatei(sql: Sql): Promise<void> {
  await sql`select api.delete_export_datei()`;
}
