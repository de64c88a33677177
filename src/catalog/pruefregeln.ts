// Rules of experts in a catalogue (O6.2).
import * as v from 'valibot';
import { getGebietMangel, type NewPruefregel } from '../db/catalogue.ts';
import type { Sql } from '../db/client.ts';
import { felder } from '../sichtbeobachtung-felder.ts';
import { column, optional, type Row } from './csv.ts';
import { ImportError, type Problem } from './problems.ts';

const drittel = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^(0[1-9]|1[0-2])-[1-3]$/, 'ein Drittel eines Monats, zum Beispiel 05-2 für den 11. bis 20. Mai'),
);
const anzahl = (() => {
  const { min, max } = felder.anzahl;
  const allowed = `eine ganze Zahl von ${min} bis ${max}`;
  return v.pipe(
    v.string(),
    v.trim(),
    v.regex(/^\d{1,5}$/, allowed),
    v.transform(Number),
    v.minValue(min, allowed),
    v.maxValue(max, allowed),
  );
})();
const flaeche = 'POLYGON oder MULTIPOLYGON als WKT in EPSG:4326';
/** Characters; its corners are the database's to count. */
const maxWkt = 1_000_000;
const wkt = v.pipe(
  v.string(),
  v.trim(),
  v.maxLength(maxWkt, `${flaeche} mit höchstens ${maxWkt} Zeichen`),
  v.regex(/^(MULTI)?POLYGON\s*\([-+\d.e\s,()]+\)$/i, flaeche),
);
const yes = v.pipe(
  optional(column.boolean),
  v.transform((value) => value ?? false),
);

export const pruefregelnFile = 'pruefregeln.csv';
export const pruefregelColumns = {
  mandant: optional(column.text),
  art: column.id,
  von: optional(drittel),
  bis: optional(drittel),
  anzahl_max: optional(anzahl),
  gebiet: optional(wkt),
  zwei_personen: yes,
  automatisch: yes,
};

/** The rules, with what is wrong in them alone among the problems. */
export function checkPruefregeln(
  rows: readonly Row<typeof pruefregelColumns>[] | null,
  problems: Problem[],
): NewPruefregel[] | null {
  for (const { line, values } of rows ?? [])
    if ((values.von === null) !== (values.bis === null))
      problems.push({ file: pruefregelnFile, line, message: 'von und bis gehören zusammen, eines von beiden ist leer' });
  return rows?.map(({ line, values }) => ({ ...values, line })) ?? null;
}

/**
 * Asks the database about the regions of rules.
 * @throws ImportError with the lines of those that can't be used
 */
export async function requireGebiete(sql: Sql, rules: readonly NewPruefregel[] | null): Promise<void> {
  const problems: Problem[] = [];
  for (const { gebiet, line } of rules ?? []) {
    const mangel = gebiet === null ? null : await getGebietMangel(sql, gebiet);
    if (mangel !== null) problems.push({ file: pruefregelnFile, line, message: `gebiet ${sentences[mangel]}` });
  }
  if (problems.length > 0) throw new ImportError(problems);
}

const sentences = {
  form: `ist keine Fläche, erlaubt ist ${flaeche}`,
  ecken: 'hat mehr als 10000 Ecken',
  kreuzt: 'ist ungültig: seine Linien kreuzen oder berühren sich',
  lage: 'liegt außerhalb des Gebiets dieses Dienstes; zuerst steht die Länge, dann die Breite',
};
