// The catalogue directory of an operator (D5): tenants, groups, species, stages, activities. Read and checked as a whole,
// before anything is written.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import {
  type Catalogue,
  type GrenzMangel,
  type KnownIds,
  listKnownIds,
  listMandantGleich,
  listMandantMangel,
  lizenzen,
  loadCatalogue,
  type NewMandant,
} from '../db/catalogue.ts';
import { codeOf, type Database, type Sql } from '../db/client.ts';
import { describePart } from '../guard/collection.ts';
import { countCrossings, maxCrossings } from '../guard/geometry.ts';
import { mailAddress } from '../guard/mail-address.ts';
import { isStorable, toName } from '../guard/text.ts';
import type { Progress } from '../observe/progress.ts';
import { column, optional, type Row, readCsv } from './csv.ts';
import { ImportError, type Problem } from './problems.ts';
import { checkPruefregeln, pruefregelColumns, pruefregelnFile, requireGebiete } from './pruefregeln.ts';

const portrait = [
  'bluetenmerkmale',
  'bluetezeit',
  'fortpflanzung',
  'gefaehrdung',
  'lebensraum',
  'nahrung',
  'oekologie',
  'quelle',
  'ueberregionale_verbreitung',
  'schutzwuerdigkeit_und_schutzstatus',
  'vegetative_merkmale',
  'verhalten',
] as const;
const text = optional(column.text);
const ownName = optional(column.name);
const id = optional(column.id);
const fotoColumns = { art: column.id, uri: text, autor: text, lizenz: text, bildunterschrift: text };

/** The tables of a catalogue: file → columns, in the order in which they are written. */
export const catalogueFiles = {
  'artengruppen.csv': {
    id: column.id,
    name_deutsch: column.name,
    is_animal: column.boolean,
    legacy_regional_artengruppe_id: id,
  },
  'arten.csv': {
    id: column.id,
    eu_guid: text,
    gid: column.id,
    name_wissenschaftlich: column.name,
    name_deutsch: ownName,
    ...(Object.fromEntries(portrait.map((name) => [name, text])) as Record<(typeof portrait)[number], typeof text>),
  },
  'arten_mandanten.csv': {
    mandant: column.text,
    art: column.id,
    art_id: text,
    name_wissenschaftlich: ownName,
    name_deutsch: ownName,
    sensibel: column.boolean,
    regionale_verbreitung: text,
    legacy_regional_art_id: id,
  },
  'arten_fotos.csv': fotoColumns,
  'verwechslungen.csv': { art: column.id, beschreibung: text },
  'verwechslung_arten.csv': { art: column.id, aid: column.id },
  'verwechslung_fotos.csv': fotoColumns,
  'stadien.csv': { id: column.id, name: column.name, phaenogramm: column.boolean },
  'aktivitaeten.csv': { id: column.id, name: column.name },
  [pruefregelnFile]: pruefregelColumns,
} as const;
export type FileName = keyof typeof catalogueFiles;
export const mandantenFile = 'mandanten.geojson';
export const requiredFiles: string[] = [mandantenFile, 'artengruppen.csv', 'arten.csv', 'arten_mandanten.csv'];

export interface ImportOptions {
  /** Accept boundaries that change the area of a tenant by more than 5 %, or lie elsewhere, where there are records already. */
  force: boolean;
  progress: Progress;
  /** Told what was put right, a sentence each. */
  warn(sentence: string): void;
}

/**
 * Loads or updates the catalogue of a directory, everything or nothing.
 * @throws ImportError with every problem by file and line
 */
export async function importCatalogue(database: Database, dir: string, options: ImportOptions): Promise<Catalogue> {
  const catalogue = await readCatalogue(dir, await listKnownIds(database.sql), options.warn);
  await requireBoundaries(database.sql, catalogue.mandanten, options);
  await requireGebiete(database.sql, catalogue.pruefregeln);
  await loadCatalogue(database, catalogue, options.progress.step, async (tx) => {
    const pairs = await listMandantGleich(tx);
    if (pairs.length === 0) return;
    throw new ImportError(
      pairs.map(({ kuerzel, anderer }) => mandantProblem(0, `${kuerzel} und ${anderer} haben dieselbe Grenze`)),
    );
  });
  return catalogue;
}

/**
 * Reads and checks a catalogue directory.
 * @param known ids that are in the database already and may be referred to
 * @param warn told what was put right
 * @throws ImportError with every problem by file and line
 */
export async function readCatalogue(
  dir: string,
  known: KnownIds,
  warn: (sentence: string) => void = () => {},
): Promise<Catalogue> {
  const isDirectory = await stat(dir).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  if (!isDirectory) throw new ImportError([{ file: dir, line: 0, message: 'Dieses Verzeichnis gibt es nicht' }]);
  const present = new Set(await readdir(dir));
  const problems: Problem[] = requiredFiles
    .filter((name) => !present.has(name))
    .map((file) => ({ file, line: 0, message: 'Diese Datei fehlt' }));
  if (problems.length > 0) throw new ImportError(problems);

  const read = async <N extends FileName>(name: N): Promise<Row<(typeof catalogueFiles)[N]>[] | null> =>
    present.has(name) ? readCsv(join(dir, name), catalogueFiles[name], problems, { warn }) : null;
  const mandanten = await readMandanten(join(dir, mandantenFile), problems, warn);
  const artengruppen = (await read('artengruppen.csv')) ?? [];
  const arten = (await read('arten.csv')) ?? [];
  const artenMandanten = ((await read('arten_mandanten.csv')) ?? []).map(({ line, values }) => ({
    line,
    // A tenant that has no numbers of its own uses the general ones.
    values: { ...values, art_id: values.art_id ?? String(values.art) },
  }));
  const artenFotos = await read('arten_fotos.csv');
  const verwechslungen = await read('verwechslungen.csv');
  const verwechslungArten = await read('verwechslung_arten.csv');
  const verwechslungFotos = await read('verwechslung_fotos.csv');
  const stadien = await read('stadien.csv');
  const aktivitaeten = await read('aktivitaeten.csv');
  const regeln = await read(pruefregelnFile);
  const pruefregeln = checkPruefregeln(regeln, problems);

  const { unique, refers } = makeChecks(problems);
  const groups = { file: 'artengruppen.csv', keys: keysOf(known.artengruppen, artengruppen) };
  const species = { file: 'arten.csv', keys: keysOf(known.arten, arten) };
  const names = [...known.mandanten, ...mandanten.map((mandant) => mandant.kuerzel)];
  const tenants = { file: mandantenFile, keys: new Set(names.map((name) => name.toLowerCase())) };
  unique('artengruppen.csv', artengruppen, 'id', (row) => row.id);
  unique('arten.csv', arten, 'id', (row) => row.id);
  refers('arten.csv', arten, 'gid', groups, (row) => row.gid);
  unique('arten_mandanten.csv', artenMandanten, 'mandant, art', (row) => `${row.mandant.toLowerCase()} ${row.art}`);
  unique('arten_mandanten.csv', artenMandanten, 'mandant, art_id', (row) => `${row.mandant.toLowerCase()} ${row.art_id}`);
  refers('arten_mandanten.csv', artenMandanten, 'mandant', tenants, (row) => row.mandant.toLowerCase());
  refers('arten_mandanten.csv', artenMandanten, 'art', species, (row) => row.art);
  refers('arten_fotos.csv', artenFotos, 'art', species, (row) => row.art);
  refers('verwechslungen.csv', verwechslungen, 'art', species, (row) => row.art);
  unique('verwechslungen.csv', verwechslungen, 'art', (row) => row.art);
  refers('verwechslung_arten.csv', verwechslungArten, 'art', species, (row) => row.art);
  refers('verwechslung_arten.csv', verwechslungArten, 'aid', species, (row) => row.aid);
  unique('verwechslung_arten.csv', verwechslungArten, 'art, aid', (row) => `${row.art} ${row.aid}`);
  refers('verwechslung_fotos.csv', verwechslungFotos, 'art', species, (row) => row.art);
  unique('stadien.csv', stadien, 'id', (row) => row.id);
  unique('aktivitaeten.csv', aktivitaeten, 'id', (row) => row.id);
  const ofMandant = regeln?.filter(({ values }) => values.mandant !== null) ?? null;
  refers(pruefregelnFile, ofMandant, 'mandant', tenants, (row) => row.mandant?.toLowerCase() ?? '');
  refers(pruefregelnFile, regeln, 'art', species, (row) => row.art);
  unique(pruefregelnFile, regeln, 'mandant, art', (row) => `${row.mandant?.toLowerCase() ?? ''} ${row.art}`.trim());
  if (problems.length > 0) throw new ImportError(problems);

  const values = <T>(rows: { values: T }[] | null): T[] | null => rows?.map((row) => row.values) ?? null;
  return {
    mandanten,
    artengruppen: values(artengruppen) ?? [],
    arten: values(arten) ?? [],
    artenMandanten: values(artenMandanten) ?? [],
    artenFotos: values(artenFotos),
    verwechslungen: values(verwechslungen),
    verwechslungArten: values(verwechslungArten),
    verwechslungFotos: values(verwechslungFotos),
    stadien: values(stadien),
    aktivitaeten: values(aktivitaeten),
    pruefregeln,
  };
}

/** Null where the file was not given. */
type Rows<T> = readonly { line: number; values: T }[] | null;
/** The file that others refer to, and what there is in it and in the database. */
interface Target {
  file: string;
  keys: ReadonlySet<string | number>;
}
const keysOf = (known: number[], rows: { values: { id: number } }[]) => new Set([...known, ...rows.map((row) => row.values.id)]);

/** What adds to the problems of a catalogue the rows whose key another one has, or that refer to nothing. */
function makeChecks(problems: Problem[]) {
  return {
    unique<T>(file: FileName, rows: Rows<T>, name: string, keyOf: (row: T) => string | number): void {
      const lines = new Map<string | number, number>();
      for (const { line, values } of rows ?? []) {
        const key = keyOf(values);
        const first = lines.get(key);
        if (first === undefined) lines.set(key, line);
        else problems.push({ file, line, message: `${name} „${key}“ steht schon in Zeile ${first}` });
      }
    },
    refers<T>(file: FileName, rows: Rows<T>, name: string, target: Target, keyOf: (row: T) => string | number): void {
      for (const { line, values } of rows ?? []) {
        const key = keyOf(values);
        if (!target.keys.has(key)) problems.push({ file, line, message: `${name} „${key}“ gibt es nicht in ${target.file}` });
      }
    },
  };
}

const position = v.looseTuple(
  [v.pipe(v.number('eine Zahl'), v.finite('eine Zahl')), v.pipe(v.number('eine Zahl'), v.finite('eine Zahl'))],
  'ein Ort aus Länge und Breite',
);
type Ring = v.InferOutput<typeof ring>;
// One that is not closed yet may have one fewer.
const ring = v.pipe(v.array(position, 'ein Ring'), v.minLength(3, 'ein Ring mit mindestens drei Ecken'));
const orNull = <S extends v.GenericSchema<string, unknown>>(schema: S) => v.optional(v.nullable(schema), null);
const textOf = (max: number) => {
  const allowed = `ein Text mit höchstens ${max} Zeichen`;
  return v.pipe(
    v.string(allowed),
    v.trim(),
    v.normalize(),
    v.minLength(1, allowed),
    v.maxLength(max, allowed),
    v.check(isStorable, allowed),
  );
};
/** What a tenant says of the files that it publishes. */
const angaben = ['herausgeber', 'kontakt', 'titel', 'beschreibung'] as const;
const mandantFeature = v.object({
  properties: v.object(
    {
      kuerzel: v.pipe(v.string('ein Text'), v.trim(), v.regex(/^[\p{L}\p{N}_-]{1,20}$/u, '1 bis 20 Buchstaben und Ziffern')),
      name: v.pipe(v.string('ein Text'), v.transform(toName), v.minLength(1, 'ein Text')),
      domains: v.pipe(
        v.array(
          v.pipe(v.string(), v.trim(), v.toLowerCase(), v.regex(/^([a-z0-9.-]+|\[[0-9a-f:.]+\])$/, 'eine Domain ohne Port')),
          'eine Liste von Domains',
        ),
        v.minLength(1, 'eine Liste mit mindestens einer Domain'),
      ),
      schluessel: v.optional(v.nullable(v.pipe(v.string('ein Text'), v.transform(toName), v.minLength(1, 'ein Text'))), null),
      bemerkung_geschuetzter: v.optional(v.picklist(['zeigen', 'verbergen'], 'zeigen oder verbergen'), 'zeigen'),
      lizenz: v.optional(v.nullable(v.picklist(lizenzen, lizenzen.join(', '))), null),
      herausgeber: orNull(v.pipe(textOf(200), v.transform(toName))),
      kontakt: orNull(v.pipe(v.string('eine E-Mail-Adresse'), mailAddress)),
      titel: orNull(v.pipe(textOf(200), v.transform(toName))),
      beschreibung: orNull(textOf(4000)),
    },
    'ein Objekt',
  ),
  geometry: v.variant(
    'type',
    [
      v.object({ type: v.literal('Polygon'), coordinates: v.array(ring) }),
      v.object({ type: v.literal('MultiPolygon'), coordinates: v.array(v.array(ring)) }),
    ],
    'ein Polygon oder MultiPolygon in EPSG:4326',
  ),
});

// GeoJSON has no lines that mean anything: the number of the feature takes their place.
async function readMandanten(path: string, problems: Problem[], warn: (sentence: string) => void): Promise<NewMandant[]> {
  const file = mandantenFile;
  let features: unknown[];
  try {
    // Which knows the mark that Windows puts before UTF-8.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
    const collection = v.parse(v.looseObject({ features: v.array(v.unknown()) }), JSON.parse(text));
    features = collection.features;
    const part = describePart(collection, features.length);
    if (part !== null) problems.push({ file, line: 1, message: `Die Datei enthält ${part}` });
  } catch {
    problems.push({ file, line: 1, message: 'Die Datei ist keine FeatureCollection in GeoJSON' });
    return [];
  }
  const mandanten: NewMandant[] = [];
  const seen = new Map<string, number>();
  for (const [index, feature] of features.entries()) {
    const line = index + 1;
    const result = v.safeParse(mandantFeature, feature);
    if (!result.success) {
      const [issue] = result.issues;
      const name = v.getDotPath(issue);
      // Of what is missing, valibot only has an English sentence about its key.
      const isMissing = issue.kind === 'schema' && issue.input === undefined;
      const what =
        name === null
          ? 'ist kein Feature in GeoJSON'
          : isMissing
            ? `${name} fehlt`
            : `${name} ist ungültig, erlaubt ist ${issue.message}`;
      problems.push({ file, line, message: `Feature ${line}${name === null ? ' ' : ': '}${what}` });
      continue;
    }
    const { properties, geometry } = result.output;
    const keys = [`kuerzel ${properties.kuerzel.toLowerCase()}`, ...properties.domains.map((domain) => `Domain ${domain}`)];
    if (properties.schluessel !== null) keys.push(`schluessel ${properties.schluessel}`);
    for (const key of keys) {
      const first = seen.get(key);
      if (first !== undefined) {
        const advice = key.startsWith('kuerzel ') ? '; Teile eines Mandanten müssen ein MultiPolygon sein' : '';
        problems.push({ file, line, message: `Feature ${line}: ${key} steht schon in Feature ${first}${advice}` });
      }
      seen.set(key, line);
    }
    for (const name of properties.lizenz === null ? [] : angaben)
      if (properties[name] === null)
        problems.push({ file, line, message: `Feature ${line} (${properties.kuerzel}): zu lizenz fehlt ${name}` });
    const polygons = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates;
    const fault = closeRings(polygons, (sentence) => warn(`${file}: Feature ${line} (${properties.kuerzel}), ${sentence}`));
    if (fault !== null) problems.push({ file, line, message: `Feature ${line} (${properties.kuerzel}), ${fault}` });
    mandanten.push({ ...properties, geojson: JSON.stringify(geometry) });
  }
  if (features.length === 0) warn(`${file}: die Datei enthält keinen Mandanten`);
  return mandanten;
}

// Closes rings that are not, and looks at how their lines cross: few crossings are repaired when the boundary is stored.
// Returns what can't be put right.
function closeRings(polygons: Ring[][], warn: (sentence: string) => void): string | null {
  let number = 0;
  let crossed = 0;
  for (const polygon of polygons) {
    for (const corners of polygon) {
      const name = `Ring ${++number}`;
      const [first, last] = [corners[0], corners.at(-1)];
      if (first && last && (first[0] !== last[0] || first[1] !== last[1])) {
        corners.push([...first]);
        warn(`${name}: war nicht geschlossen, seine erste Ecke wurde am Ende wiederholt`);
      }
      if (corners.length < 4) return `${name}: hat weniger als drei Ecken`;
      const crossings = countCrossings(corners);
      if (crossings > maxCrossings) return `${name}: seine Linien kreuzen sich öfter als ${maxCrossings} Mal`;
      if (crossings > 0) warn(`${name}: seine Linien kreuzen sich, die Grenze wurde repariert`);
      crossed += crossings;
    }
  }
  const all = countCrossings(polygons);
  if (all > maxCrossings) return `die Linien seiner ${number} Ringe kreuzen sich öfter als ${maxCrossings} Mal`;
  if (all > crossed) warn('Linien verschiedener Ringe kreuzen sich, die Grenze wurde repariert');
  return null;
}

const mandantProblem = (line: number, message: string): Problem => ({ file: mandantenFile, line, message });

// What the database has to say about the boundaries, before anything is written.
async function requireBoundaries(sql: Sql, mandanten: NewMandant[], { force, progress }: ImportOptions): Promise<void> {
  const problems: Problem[] = [];
  for (const [index, { kuerzel, geojson }] of mandanten.entries()) {
    progress.step('Grenzen', index, mandanten.length);
    const name = `Feature ${index + 1} (${kuerzel}): `;
    try {
      // Its rings were looked at.
      for (const mangel of await listMandantMangel(sql, { kuerzel, geojson, repairable: true }, force))
        problems.push(mandantProblem(index + 1, name + describeMangel(mangel)));
    } catch (error) {
      const sentence = unusable[codeOf(error) ?? ''];
      if (sentence === undefined) throw error;
      problems.push(mandantProblem(index + 1, name + sentence));
    }
  }
  if (problems.length > 0) throw new ImportError(problems);
}

const unusable: Record<string, string> = {
  GRENZ: 'die Grenze ist keine Fläche',
  PROJK: 'die Koordinaten sind keine Grad, nötig ist EPSG:4326 (Länge, dann Breite)',
  GBIET: 'die Grenze liegt außerhalb des Gebiets dieses Dienstes',
};

function describeMangel({ mangel, wert }: GrenzMangel): string {
  const number = (wert ?? 0).toLocaleString('de-DE', { maximumFractionDigits: 1 });
  return {
    lage: 'die Grenze liegt nicht ganz im Gebiet dieses Dienstes',
    vertauscht:
      'die Grenze liegt außerhalb des Gebiets dieses Dienstes; sind Länge und Breite vertauscht? Zuerst steht die Länge',
    klein: `die Fläche wäre ${number} km², mindestens sind es 100 km²`,
    flaeche: `die Fläche änderte sich um ${number} %; es gibt schon Beobachtungen, ohne --force sind höchstens 5 % erlaubt`,
    ort: `die Grenze deckte nur ${number} % der bisherigen Fläche; es gibt schon Beobachtungen, ohne --force sind mindestens 50 % nötig`,
  }[mangel];
}
