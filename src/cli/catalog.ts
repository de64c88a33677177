// Commands about the catalogue, its boundaries and the demo.
import type { DemoLogin } from '../catalog/demo.ts';
import type { Database } from '../db/client.ts';
import { setPasswordHash } from '../db/nutzer.ts';
import { hashPassword, sha1OfPlain } from '../guard/password.ts';
import { describeLogins } from '../welcome.ts';
import { type Command, countOf, type PlainCommand, progress, requireDirectory, warn } from './command.ts';
import { UsageError } from './line.ts';

export const catalogCommands: Record<string, Command> = {
  async 'catalog export'(database, _values, rest) {
    const dir = requireDirectory('catalog export', rest);
    const { exportCatalogue } = await import('../catalog/catalogue-files.ts');
    await exportCatalogue(database.sql, dir);
    console.log(`Der Katalog steht in ${dir}.`);
  },

  async 'catalog import'(database, values, rest) {
    const dir = requireDirectory('catalog import', rest);
    const { importCatalogue } = await import('../catalog/catalogue.ts');
    const catalogue = await importCatalogue(database, dir, { force: Boolean(values.force), progress, warn });
    progress.end();
    const counts = [
      countOf(catalogue.mandanten.length, 'Mandant', 'Mandanten'),
      countOf(catalogue.artengruppen.length, 'Artengruppe', 'Artengruppen'),
      countOf(catalogue.arten.length, 'Art', 'Arten'),
      countOf(catalogue.artenMandanten.length, 'Artdefinition', 'Artdefinitionen'),
    ];
    console.log(`${counts.join(', ')} geladen.`);
  },

  async 'grenzen refresh'(database, values, _rest, config) {
    if (!config.boundary) throw new UsageError('BOUNDARY_URL ist nicht gesetzt: Dort steht, woher die Grenzen kommen.');
    const { refreshBoundaries } = await import('../jobs/boundaries.ts');
    const outcome = await refreshBoundaries(database, config.boundary, { force: Boolean(values.force), report: progress.step });
    progress.end();
    const { mandanten, zugeordnet, maskiert, uebergangen } = outcome;
    const sentences = ['Die Grenzen sind unverändert.'];
    if (mandanten > 0) {
      const grenzen = mandanten === 1 ? 'Die Grenze von 1 Mandanten ist' : `Die Grenzen von ${mandanten} Mandanten sind`;
      const haben = `${countOf(zugeordnet, 'Beobachtung hat', 'Beobachtungen haben')} andere Mandanten`;
      sentences[0] = `${grenzen} neu; ${haben}, ${countOf(maskiert, 'davon wird', 'davon werden')} an anderer Stelle gezeigt.`;
    }
    if (uebergangen > 0) {
      sentences.push(
        `${uebergangen} ${uebergangen === 1 ? 'Feature der Quelle nennt' : 'Features der Quelle nennen'} keinen Mandanten.`,
      );
    }
    console.log(sentences.join(' '));
  },

  async 'demo load'(database, values) {
    const { loadDemo } = await import('../catalog/demo.ts');
    const created = await loadDemo(database, progress);
    const logins: DemoLogin[] = values.logins ? await renewDemoPasswords(database) : created;
    console.log(['Die Demo ist geladen.', ...describeLogins(logins)].join('\n'));
  },
};

export const plainCatalogCommands: Record<string, PlainCommand> = {
  async 'catalog template'(rest) {
    const dir = requireDirectory('catalog template', rest);
    const { writeTemplate } = await import('../catalog/catalogue-files.ts');
    await writeTemplate(dir);
    console.log(`Ein leerer Katalog steht in ${dir}; was hineingehört: npm run cli -- catalog import --help`);
  },
};

async function renewDemoPasswords(database: Database): Promise<DemoLogin[]> {
  const { listDemoLoginnames, makeDemoPassword } = await import('../catalog/demo.ts');
  const logins: DemoLogin[] = [];
  for (const loginname of await listDemoLoginnames()) {
    const password = makeDemoPassword();
    await setPasswordHash(database.sql, loginname, await hashPassword(sha1OfPlain(password)));
    logins.push({ loginname, rolle: null, password });
  }
  return logins;
}
