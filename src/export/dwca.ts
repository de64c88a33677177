// A Darwin Core Archive (O5.3, O5.4) as GBIF reads it: https://dwc.tdwg.org/text/
import { createWriteStream } from 'node:fs';
import { Writable } from 'node:stream';
import { ZipWriter } from '@zip.js/zip.js';
import { create } from 'xmlbuilder2';
import { type ExportMedium, type ExportUmfang, readMedia, readTabbed } from '../db/export-rows.ts';
import { mediumTypes } from '../media/medium.ts';
import { multimediaTerms, occurrenceTerms, toTermUri } from './columns.ts';
import { toEml } from './eml.ts';
import { licences } from './licences.ts';
import { joined, type Writing } from './writing.ts';

// The same for every archive, so that the same data give the same bytes.
const entryTime = new Date(1980, 0, 1);

/** Writes the archive. */
export async function writeArchive(writing: Writing, umfang: ExportUmfang): Promise<void> {
  const file = createWriteStream(writing.path, { flags: 'wx' });
  try {
    await writeEntries(writing, umfang, file);
  } finally {
    // Where rows fail nobody ends it.
    file.destroy();
  }
}

async function writeEntries(
  { tx, mandant, source, origin, count }: Writing,
  umfang: ExportUmfang,
  file: Writable,
): Promise<void> {
  const zip = new ZipWriter(Writable.toWeb(file), {
    useWebWorkers: false,
    level: 6,
    lastModDate: entryTime,
    extendedTimestamp: false,
  });
  const add = (name: string, parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) =>
    zip.add(name, ReadableStream.from(parts));
  await add('eml.xml', [Buffer.from(toEml(mandant, umfang, origin))]);
  const media = readMedia(tx, source.mandantId);
  const first = await media.next();
  if (!first.done) await add('multimedia.txt', renderMedia(first.value, media, origin));
  await add('meta.xml', [Buffer.from(toMeta(!first.done))]);
  const rows = joined(readTabbed(tx, source, Object.values(occurrenceTerms)), count);
  await add('occurrence.txt', withHeader(Buffer.from(`${Object.keys(occurrenceTerms).join('\t')}\n`), rows));
  await zip.close();
}

async function* withHeader(header: Buffer, rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield header;
  yield* rows;
}

async function* renderMedia(first: ExportMedium[], rest: AsyncIterable<ExportMedium[]>, origin: string): AsyncGenerator<Buffer> {
  const render = (media: ExportMedium[]) =>
    Buffer.from(
      media
        .map(({ guid, name, lizenz, urheber }) => {
          const format = mediumTypes[name.split('.')[1] ?? ''] ?? '';
          const type = format.startsWith('image/') ? 'StillImage' : 'Sound';
          return `${[guid, type, format, `${origin}/api/v2/medien/${name}`, licences[lizenz].url, urheber ?? ''].join('\t')}\n`;
        })
        .join(''),
    );
  yield Buffer.from(`${['occurrenceID', ...multimediaTerms].join('\t')}\n`);
  yield render(first);
  for await (const media of rest) yield render(media);
}

const multimediaRow = 'http://rs.gbif.org/terms/1.0/Multimedia';
// The two characters of an escape, not the character: readers of archives know no other form.
const fileFormat = {
  encoding: 'UTF-8',
  fieldsTerminatedBy: '\\t',
  linesTerminatedBy: '\\n',
  fieldsEnclosedBy: '',
  ignoreHeaderLines: '1',
};

/** What stands where in the files of the archive. */
function toMeta(hasMedia: boolean): string {
  const archive = create({ version: '1.0', encoding: 'UTF-8' }).ele('http://rs.tdwg.org/dwc/text/', 'archive', {
    metadata: 'eml.xml',
  });
  const addFile = (kind: 'core' | 'extension', rowType: string, location: string, terms: readonly string[]) => {
    const file = archive.ele(kind, { ...fileFormat, rowType });
    file.ele('files').ele('location').txt(location);
    file.ele(kind === 'core' ? 'id' : 'coreid', { index: '0' });
    for (const [index, term] of terms.entries())
      file.ele('field', { index: String(kind === 'core' ? index : index + 1), term: toTermUri(term) });
  };
  addFile('core', toTermUri('Occurrence'), 'occurrence.txt', Object.keys(occurrenceTerms));
  if (hasMedia) addFile('extension', multimediaRow, 'multimedia.txt', multimediaTerms);
  return archive.end({ prettyPrint: true });
}
