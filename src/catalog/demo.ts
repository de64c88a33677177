// The demo: a catalogue in the operators' own format (sql/demo), three accounts and sightings.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
import { listKnownIds, loadCatalogue } from '../db/catalogue.ts';
import type { Database } from '../db/client.ts';
import { createNutzer, getLogin } from '../db/nutzer.ts';
import { createSichtbeobachtungen } from '../db/sichtbeobachtung.ts';
import { hashPassword, sha1OfPlain } from '../guard/password.ts';
import type { Progress } from '../observe/progress.ts';
import { listFeld } from '../sichtbeobachtung-felder.ts';
import { readCatalogue } from './catalogue.ts';
import { readCsv } from './csv.ts';
import { nutzerColumns } from './nutzer.ts';
import { ImportError, type Problem } from './problems.ts';
import { columns } from './sichtbeobachtung-columns.ts';

const demoDir = fileURLToPath(new URL('../../sql/demo', import.meta.url));
const rowsPerStep = 100;

export interface DemoLogin {
  loginname: string;
  rolle: string | null;
  password: string;
}

// As in a file of an import; what is empty is what it is where it was not sent.
const fields = [...listFeld().map(([name]) => name), 'status'] as const;
type Cells = Record<(typeof fields)[number], v.StringSchema<undefined>>;
const sichtbeobachtungColumns = {
  loginname: v.string(),
  ...(Object.fromEntries(fields.map((name) => [name, v.string()])) as Cells),
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
      const existing = await getLogin(tx, values.loginname);
      if (existing) {
        ids.set(values.loginname, existing.id);
        continue;
      }
      const password = makeDemoPassword();
      const passwordHash = await hashPassword(sha1OfPlain(password));
      ids.set(values.loginname, await createNutzer(tx, { ...values, artengruppen: [], mandanten: [], passwordHash }));
      logins.push({ loginname: values.loginname, rolle: values.rolle, password });
    }
    // Nobody releases their own record: the two who may release do it for each other.
    const [expert, administrator] = ['demo-expertin', 'demo-admin'].map((name) => ids.get(name) ?? 0) as [number, number];
    const rows = sichtbeobachtungen.map(({ values: { loginname, ...cells } }) => {
      const nutzerId = ids.get(loginname) ?? 0;
      const decided = cells.status === 'freigegeben' || cells.status === 'abgelehnt';
      return {
        ...Object.fromEntries(fields.map((name) => [name, cells[name] === '' ? null : columns[name].read(cells[name])])),
        nutzer_id: nutzerId,
        experte_id: decided ? (nutzerId === expert ? administrator : expert) : null,
      };
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
export const makeDemoPassword = () => randomBytes(9).toString('base64url');

/** Login names of the demo accounts. */
export async function listDemoLoginnames(): Promise<string[]> {
  const problems: Problem[] = [];
  const nutzer = await readCsv(join(demoDir, 'nutzer.csv'), nutzerColumns, problems);
  return nutzer.map(({ values }) => values.loginname);
}
