// The demo: a catalogue in the operators' own format (sql/demo), three accounts and sightings.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
import { listKnownIds, loadCatalogue } from '../db/catalogue.ts';
import type { Database } from '../db/client.ts';
import { createDemoNutzer, createSichtbeobachtungen, type DemoSichtbeobachtung } from '../db/demo.ts';
import { hashPassword, sha1OfPlain } from '../guard/password.ts';
import type { Progress } from '../observe/progress.ts';
import { readCatalogue } from './catalogue.ts';
import { column, ImportError, optional, type Problem, readCsv } from './csv.ts';
import { nutzerColumns } from './nutzer.ts';

const demoDir = fileURLToPath(new URL('../../sql/demo', import.meta.url));
const rowsPerStep = 100;

export interface DemoLogin {
  loginname: string;
  rolle: string | null;
  password: string;
}

const number = v.pipe(v.string(), v.transform(Number), v.finite('eine Zahl'));
const sichtbeobachtungColumns = {
  loginname: column.text,
  art: column.id,
  lat: number,
  lon: number,
  srid: v.pipe(
    v.string(),
    v.regex(/^EPSG:(25832|4326|3857)$/, 'EPSG:25832, EPSG:4326 oder EPSG:3857'),
    v.transform((value) => Number(value.slice(5))),
  ),
  anzahl: optional(column.id),
  sensibel: optional(column.boolean),
  datum: v.pipe(
    v.string(),
    v.regex(/^\d\d\.\d\d\.\d{4}$/, 'TT.MM.JJJJ'),
    v.transform((value) => value.split('.').reverse().join('-')),
  ),
  bereich: v.picklist(['privat', 'oeffentlich'], 'privat oder oeffentlich'),
  bemerkung: optional(column.text),
  stadium_id: optional(column.id),
  aktivitaet_id: optional(column.id),
  status: optional(
    v.picklist(['pruefung', 'hinweis', 'freigegeben', 'abgelehnt'], 'pruefung, hinweis, freigegeben oder abgelehnt'),
  ),
};

/**
 * Loads the demo, everything or nothing. Loading it again updates the catalogue and adds what is missing; accounts that
 * exist keep their passwords and are not in the result.
 */
export async function loadDemo(database: Database, progress: Progress): Promise<DemoLogin[]> {
  const catalogue = await readCatalogue(demoDir, await listKnownIds(database.sql));
  const problems: Problem[] = [];
  const nutzer = await readCsv(join(demoDir, 'nutzer.csv'), nutzerColumns, problems);
  const sichtbeobachtungen = await readCsv(join(demoDir, 'sichtbeobachtungen.csv'), sichtbeobachtungColumns, problems);
  if (problems.length > 0) throw new ImportError(problems);

  const logins: DemoLogin[] = [];
  await loadCatalogue(database, catalogue, progress.step, async (tx) => {
    const ids = new Map<string, number>();
    for (const { values } of nutzer) {
      const password = makeDemoPassword();
      const passwordHash = await hashPassword(sha1OfPlain(password));
      const { id, created } = await createDemoNutzer(tx, { ...values, artengruppen: [], passwordHash });
      ids.set(values.loginname, id);
      if (created) logins.push({ loginname: values.loginname, rolle: values.rolle, password });
    }
    // Nobody releases their own record: the two who may release do it for each other.
    const [expert, administrator] = ['demo-expertin', 'demo-admin'].map((name) => ids.get(name) ?? 0) as [number, number];
    const rows: DemoSichtbeobachtung[] = sichtbeobachtungen.map(({ values: { loginname, ...values } }) => {
      const nutzerId = ids.get(loginname) ?? 0;
      const decided = values.status === 'freigegeben' || values.status === 'abgelehnt';
      return { ...values, nutzer_id: nutzerId, experte_id: decided ? (nutzerId === expert ? administrator : expert) : null };
    });
    for (let at = 0; at < rows.length; at += rowsPerStep) {
      progress.step('Sichtbeobachtungen', at, rows.length);
      await createSichtbeobachtungen(tx, rows.slice(at, at + rowsPerStep));
    }
  });
  progress.end();
  return logins;
}

/** A password that can be typed. */
export function makeDemoPassword(): string {
  return randomBytes(9).toString('base64url');
}

/** Login names of the demo accounts. */
export async function listDemoLoginnames(): Promise<string[]> {
  const problems: Problem[] = [];
  const nutzer = await readCsv(join(demoDir, 'nutzer.csv'), nutzerColumns, problems);
  return nutzer.map(({ values }) => values.loginname);
}
