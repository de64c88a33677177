// Many accounts at once, of a portal that moves here. They have no password: each sets its own by the link in a mail.
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import * as v from 'valibot';
import type { Database } from '../db/client.ts';
import { createNutzerOfImport, type NutzerImportFehler } from '../db/nutzer-import.ts';
import { mailAddress } from '../guard/mail-address.ts';
import { column, optional, readCsv } from './csv.ts';
import { ImportError, type Problem } from './problems.ts';

const anonymisiert = v.pipe(v.string(), v.trim(), v.picklist(['', '0', '1'], '0 oder 1'), v.transform(Number));
const word = v.pipe(column.text, v.maxLength(254, 'ein Text mit höchstens 254 Zeichen'));
const name = v.pipe(column.name, v.maxLength(254, 'ein Text mit höchstens 254 Zeichen'));
/** The columns of a file of accounts. */
export const nutzerColumns = {
  loginname: word,
  email: optional(mailAddress),
  vorname: name,
  nachname: name,
  anonymisiert,
  rolle: optional(v.picklist(['expert', 'administrator'], 'expert oder administrator')),
  artengruppen: optional(
    v.pipe(
      column.text,
      v.regex(/^\d{1,9}(,\d{1,9})*$/, 'eine Liste von Nummern mit Komma dazwischen'),
      v.transform((value) => value.split(',').map(Number)),
    ),
  ),
  mandanten: optional(
    v.pipe(
      column.text,
      v.regex(/^[\p{L}\p{N}_-]{1,20}(,[\p{L}\p{N}_-]{1,20})*$/u, 'eine Liste von Abkürzungen mit Komma dazwischen'),
      v.transform((value) => value.split(',')),
    ),
  ),
};

const meanings: Record<keyof typeof nutzerColumns, string> = {
  loginname: 'womit sich jemand anmeldet; groß und klein sind dasselbe',
  email: 'wohin der Link für das Passwort geht; ohne sie setzt es der Betreiber: nutzer password',
  vorname: '',
  nachname: '',
  anonymisiert: '1: der Name wird anderen nur mit Anfangsbuchstaben gezeigt (Standard 0)',
  rolle: 'expert, administrator oder leer',
  artengruppen: 'worauf ein Experte beschränkt ist: Nummern mit Komma dazwischen, die Zelle in Anführungszeichen',
  mandanten: 'ebenso: Abkürzungen von Mandanten',
};

/** The format of a file of accounts for operators. */
export function describeNutzerFormat(): string {
  return [
    'nutzer import DATEI.csv [--ignore-columns] [--dry-run] [--errors DATEI]',
    '',
    'Eine Zeile je Konto. CSV, auch aus Excel: eine Kopfzeile mit den Namen der Spalten, in beliebiger Reihenfolge. Spalten ohne * dürfen',
    'fehlen oder leer sein. Angelegt werden alle oder keines; Konten, die es mit Anmeldename und Adresse schon gibt, bleiben, wie sie sind.',
    'Die neuen haben kein Passwort: Anmelden kann sich, wer sich über „Passwort vergessen“ eines setzt.',
    '',
    ...Object.entries(nutzerColumns).map(([name, schema]) =>
      `  ${`${name}${v.is(schema, '') ? '' : ' *'}`.padEnd(16)} ${meanings[name as keyof typeof nutzerColumns]}`.trimEnd(),
    ),
    '',
    '  loginname,email,vorname,nachname,rolle,artengruppen',
    '  anna.muster,anna@example.org,Anna,Muster,expert,"2,5"',
  ].join('\n');
}

// What the database takes at once.
const maxFileBytes = 32 * 1024 * 1024;
// Lines that a hint names.
const maxLines = 20;

/**
 * Creates the accounts in a CSV file, all or none.
 * @returns how many were created, or would have been, and how many were there already
 * @throws ImportError with what is wrong by line, and then nothing is stored
 */
export async function importNutzer(
  database: Database,
  path: string,
  options: { dryRun: boolean; ignoreColumns: boolean; warn(sentence: string): void },
): Promise<{ created: number; known: number }> {
  const file = basename(path);
  const problems: Problem[] = [];
  const add = (line: number, message: string) => problems.push({ file, line, message });
  const entry = await stat(path).catch(() => null);
  if (!entry?.isFile()) add(0, 'Diese Datei gibt es nicht');
  else if (entry.size > maxFileBytes) add(0, `Die Datei ist zu groß, erlaubt sind ${maxFileBytes / 1024 / 1024} MB`);
  if (problems.length > 0) throw new ImportError(problems);

  const read = { ignoreUnknown: options.ignoreColumns, warn: options.warn };
  const rows = (await readCsv(path, nutzerColumns, problems, read)).map(({ line, values }) => ({
    ...values,
    zeile: line,
    artengruppen: values.artengruppen ?? [],
    mandanten: values.mandanten ?? [],
  }));
  const { created, left } = await createNutzerOfImport(database.sql, rows, {
    dryRun: options.dryRun,
    onChecked(errors) {
      const values = new Map(rows.map((row) => [row.zeile, row]));
      for (const error of errors) add(error.zeile, describeError(error, values.get(error.zeile)?.[error.spalte] ?? ''));
      problems.sort((a, b) => a.line - b.line);
      if (problems.length > 0) throw new ImportError(problems);
    },
  });
  for (const [spalte, cells] of Map.groupBy(left, (cell) => cell.spalte)) {
    const lines = cells.slice(0, maxLines).map(({ zeile }) => zeile);
    const more = cells.length > maxLines ? ' …' : '';
    options.warn(
      `${file}: ${spalte} gilt nicht für Konten, die es schon gibt und die etwas anderes haben: Zeile ${lines.join(', ')}${more}`,
    );
  }
  return { created, known: rows.length - created };
}

function describeError({ code, spalte, bezug }: NutzerImportFehler, value: unknown): string {
  if (code === 'MANUN') return `mandanten enthält „${(value as string[])[Number(bezug) - 1]}“, diesen Mandanten gibt es nicht`;
  if (code === 'GRUPP') return `artengruppen enthält „${bezug}“, diese Artengruppe gibt es nicht`;
  if (bezug !== null) return `${spalte} „${value}“ steht schon in Zeile ${bezug}`;
  return spalte === 'loginname'
    ? `loginname „${value}“ gehört zu einem Konto mit einer anderen Adresse`
    : `email „${value}“ gehört zu einem anderen Konto`;
}
