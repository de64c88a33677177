import type { DemoLogin } from './catalog/demo.ts';
import { type Config, ConfigError } from './config.ts';
import type { Mandant } from './db/mandant.ts';

/** @throws ConfigError when DEFAULT_TENANT names none of the tenants, unless there are none yet */
export function requireDefaultTenant(defaultTenant: string | null, mandanten: readonly Mandant[]): void {
  const isKnown = mandanten.some(({ kuerzel }) => kuerzel.toLowerCase() === defaultTenant?.toLowerCase());
  if (defaultTenant === null || mandanten.length === 0 || isKnown) return;
  const known = mandanten.map(({ kuerzel }) => kuerzel).join(', ');
  throw new ConfigError(`DEFAULT_TENANT ist „${defaultTenant}“, erlaubt ist das Kürzel eines Mandanten: ${known}.`);
}

/** What stands on the terminal once the service listens. */
export function describeFirstSteps(
  config: Pick<Config, 'host' | 'port' | 'defaultTenant' | 'role' | 'trustedHops'>,
  logins: readonly DemoLogin[],
  kind: 'postgres' | 'embedded',
  mandanten: readonly Mandant[],
): string {
  const host = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(config.host) ? 'localhost' : config.host;
  const origin = `http://${host}:${config.port}`;
  // It serves neither the map nor the interface.
  if (config.role === 'worker')
    return `\nDer Dienst läuft, nur für Aufträge (PROCESS_ROLE=worker). Zustand: ${origin}/health/ready\n\n`;
  const base = `${origin}/api/v2`;
  const lines = ['', `Der Dienst läuft. Karte: ${origin}/karte`, `Schnittstelle: ${base}`, ''];
  if (config.trustedHops === 0)
    lines.push('Vor einen öffentlichen Port gehört ein Proxy, mit TRUST_PROXY (docs/operations/proxy.md).', '');
  const [mandant] = mandanten;
  if (!mandant) {
    lines.push('Die Datenbank ist noch leer. Mandanten, Arten und Stadien kommen aus einem Verzeichnis:', '');
    lines.push('  npm run cli -- catalog import VERZEICHNIS', '');
    if (config.defaultTenant !== null) lines.push(`DEFAULT_TENANT=${config.defaultTenant} muss einer dieser Mandanten sein.`, '');
    return `${lines.join('\n')}\n`;
  }
  // Another host would be answered with 421.
  const isAddressed = config.defaultTenant !== null || mandanten.some(({ domains }) => domains.includes(host));
  const header = isAddressed ? '' : `-H "Host: ${mandant.domains[0]}" `;
  lines.push(`  curl ${header}"${base}/sichtbeobachtungen?limit=3"`, '');
  const [first] = logins;
  if (first) {
    lines.push('Demo-Konten (die Passwörter stehen nur hier):', ...describeLogins(logins), '');
    lines.push('Anmelden, das Passwort geht als SHA-1 auf die Reise:', '');
    lines.push(
      `  curl "${base}/login?loginname=demo-melder&password=$(printf %s '${passwordOf(logins, 'demo-melder')}' | sha1sum | cut -d' ' -f1)"`,
      '',
    );
  } else if (kind === 'embedded') {
    lines.push('Neue Passwörter für die Demo-Konten, bei angehaltenem Dienst: npm run cli -- demo load --logins', '');
  }
  return `${lines.join('\n')}\n`;
}

export function describeLogins(logins: readonly DemoLogin[]): string[] {
  return logins.map(({ loginname, rolle, password }) =>
    `  ${loginname.padEnd(16)}${password.padEnd(16)}${rolle ?? ''}`.trimEnd(),
  );
}

function passwordOf(logins: readonly DemoLogin[], loginname: string): string {
  return logins.find((login) => login.loginname === loginname)?.password ?? '';
}
