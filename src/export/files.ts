// The files of a tenant, one after the other (O5). Each is written while its rows are read.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Transaction } from '../db/client.ts';
import type { ExportDatei, ExportMandant } from '../db/export.ts';
import { type ExportUmfang, getExportMandant, getExportUmfang, readCsv, readCube, readFeatures } from '../db/export-rows.ts';
import { csvColumns } from './columns.ts';
import { writeArchive } from './dwca.ts';
import { writeGeoPackage } from './geopackage.ts';
import { licences } from './licences.ts';
import { joined, type Writing } from './writing.ts';

/** A file that is whole and on disk. */
export interface WrittenFile {
  datei: ExportDatei;
  path: string;
  bytes: number;
  /** Records in it; squares in cube.csv. */
  anzahl: number;
  /** Hexadecimal. */
  sha256: string;
}

export interface ExportOptions {
  /** Where the files are written, under their names; none may be there. */
  directory: string;
  /** Address of the tenant for links in the files: https://rp.example.org */
  origin: string;
  /** Told after each batch of rows how many of the file are written; waited for. */
  onRows?: (datei: ExportDatei, done: number) => void | Promise<void>;
}

/** Writes files of a tenant, in a transaction that is gis_public. The same data give the same bytes. */
export async function writeExport(
  tx: Transaction,
  mandant: ExportMandant,
  dateien: readonly ExportDatei[],
  { directory, origin, onRows = () => {} }: ExportOptions,
): Promise<WrittenFile[]> {
  const source = { mandantId: await getExportMandant(tx, mandant.mandant), rechte: licences[mandant.lizenz].url };
  const written: WrittenFile[] = [];
  // Reads all records once: not for each file that tells it.
  let known: Promise<ExportUmfang> | undefined;
  const umfang = () => (known ??= getExportUmfang(tx, source.mandantId));
  for (const datei of dateien) {
    const path = join(directory, datei);
    let anzahl = 0;
    const count = async (rows: number) => {
      anzahl += rows;
      await onRows(datei, anzahl);
    };
    await writers[datei]({ tx, mandant, source, origin, path, count, umfang });
    written.push({ datei, path, anzahl, ...(await finishFile(path)) });
  }
  return written;
}

const writers: Record<ExportDatei, (writing: Writing) => Promise<void>> = {
  'dwca.zip': async (writing) => writeArchive(writing, await writing.umfang()),
  'sichtbeobachtung.csv': ({ tx, source, path, count }) =>
    writeParts(path, `${csvColumns.join(',')}\n`, joined(readCsv(tx, source, csvColumns), count)),
  'sichtbeobachtung.geojson': ({ tx, source, path, count }) =>
    writeParts(path, '{"type":"FeatureCollection","features":[', features(readFeatures(tx, source), count)),
  'sichtbeobachtung.gpkg': async (writing) => writeGeoPackage(writing, await writing.umfang()),
  'cube.csv': ({ tx, source, path, count }) =>
    writeParts(
      path,
      'eeacellcode,year,specieskey,species,occurrences,mincoordinateuncertaintyinmeters\n',
      joined(readCube(tx, source.mandantId), count),
    ),
};

async function writeParts(path: string, head: string, parts: AsyncIterable<Buffer>): Promise<void> {
  await pipeline(
    Readable.from(
      (async function* () {
        yield Buffer.from(head);
        yield* parts;
      })(),
    ),
    createWriteStream(path, { flags: 'wx' }),
  );
}

async function* features(batches: ReturnType<typeof readFeatures>, count: Writing['count']): AsyncGenerator<Buffer> {
  let separator = '\n';
  for await (const batch of batches) {
    yield Buffer.from(separator);
    yield batch.features;
    separator = ',\n';
    await count(batch.count);
  }
  yield Buffer.from('\n]}\n');
}

async function finishFile(path: string): Promise<{ bytes: number; sha256: string }> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
