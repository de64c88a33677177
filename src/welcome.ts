import type { DemoLogin } from './catalog/demo.ts';
import type { Config } from './config.ts';

/** What stands on the terminal once the service listens. */
export function describeFirstSteps(
  config: Pick<Config, 'host' | 'port'>,
  logins: readonly DemoLogin[],
  kind: 'postgres' | 'embedded',
): string {
  const host = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(config.host) ? 'localhost' : config.host;
  const base = `http://${host}:${config.port}/api/v2`;
  const lines = ['', `Der Dienst läuft: ${base}`, '', `  curl "${base}/sichtbeobachtungen?limit=3"`, ''];
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
