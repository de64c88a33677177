// Everything that is stored about an account, as one zip (D7.1). Written while it is read: an account may have a hundred thousand
// sightings and gigabytes of photos.
import { ZipWriter } from '@zip.js/zip.js';
import { getNutzerAuskunft, type Inhaber, listAuskunftNachricht, listAuskunftQs, requireZugangsstand } from '../db/auskunft.ts';
import type { Sql } from '../db/client.ts';
import type { Storage } from '../media/storage.ts';
import { describeAuskunft, missingFile } from './liesmich.ts';
import { formatSaetze, listSaetze, renderSatz } from './saetze.ts';

export interface Archived {
  saetze: number;
  dateien: number;
  /** Files that a record names and the storage doesn't have. */
  fehlend: number;
}

/**
 * Writes what is stored about an account, and closes the stream.
 * @param onFile told of each file that was put in
 * @throws NFUND (a database error) before anything is written; ANMLD as soon as the keys to the account are others
 */
export async function writeAuskunft(
  { sql, storage }: { sql: Sql; storage: Storage },
  inhaber: Inhaber,
  output: WritableStream<Uint8Array>,
  onFile: (done: number, total: number) => void = () => {},
): Promise<Archived> {
  const konto = await getNutzerAuskunft(sql, inhaber);
  const zip = new ZipWriter(output, { useWebWorkers: false, level: 6 });
  const add = (name: string, parts: AsyncIterable<string> | Iterable<string>) =>
    zip.add(name, ReadableStream.from(toBytes(parts)));
  await add('LIESMICH.txt', [describeAuskunft(new Date())]);
  await add('konto.json', [`${JSON.stringify(JSON.parse(konto), null, 2)}\n`]);

  let saetze = 0;
  let total = 0;
  const counted = async function* () {
    for await (const page of listSaetze(sql, inhaber)) {
      saetze += page.length;
      for (const { dateien } of page) total += dateien.length;
      yield page;
    }
  };
  await add(
    'sichtbeobachtungen.json',
    toJsonArray(counted(), (satz) => renderSatz(sql, inhaber, satz)),
  );
  await add('sichtbeobachtungen.csv', formatSaetze(listSaetze(sql, inhaber)));
  await add('qs.json', toJsonArray(parsed(listAuskunftQs(sql, inhaber, false))));
  await add('entscheidungen.json', toJsonArray(parsed(listAuskunftQs(sql, inhaber, true))));
  await add('nachrichten.json', toJsonArray(parsed(listAuskunftNachricht(sql, inhaber))));

  const fehlend: string[] = [];
  let done = 0;
  // Read once more instead of remembered: there may be half a million.
  for await (const page of listSaetze(sql, inhaber)) {
    for (const { name, path } of page.flatMap(({ dateien }) => dateien)) {
      await requireZugangsstand(sql, inhaber);
      const bytes = await storage.get(name);
      if (bytes === null) fehlend.push(path);
      // They are compressed already.
      else await zip.add(path, ReadableStream.from([bytes]), { level: 0 });
      onFile(++done, Math.max(done, total));
    }
  }
  if (fehlend.length > 0)
    await add(
      missingFile,
      fehlend.map((path) => `${path}\n`),
    );
  await zip.close();
  return { saetze, dateien: done - fehlend.length, fehlend: fehlend.length };
}

async function* toBytes(parts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) yield Buffer.from(part);
}

async function* parsed(pages: AsyncIterable<string>): AsyncGenerator<object[]> {
  for await (const page of pages) yield JSON.parse(page) as object[];
}

async function* toJsonArray<T extends object>(
  pages: AsyncIterable<T[]>,
  render: (value: T) => AsyncIterable<string> | Iterable<string> = (value) => [JSON.stringify(value)],
): AsyncGenerator<string> {
  let separator = '[\n';
  for await (const page of pages) {
    for (const value of page) {
      for await (const part of render(value)) {
        yield separator + part;
        separator = '';
      }
      separator = ',\n';
    }
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n';
}
