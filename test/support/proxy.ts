// A proxy as docs/deploy shows it, in front of a service of the test: the same file, with other ports, hosts and paths.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request as requestPlain } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasProgram, isOpen, start, untilReady } from './child.ts';
import { freePort } from './port.ts';

export type ProxyName = 'nginx' | 'caddy';

/** Where something is asked: a proxy, or the service itself, without TLS. */
export interface Door {
  httpPort: number;
  httpsPort: number;
  /** Without TLS, unless a question says otherwise. */
  isPlain: boolean;
}

export const plainDoor = (port: number): Door => ({ httpPort: port, httpsPort: 0, isPlain: true });

export interface StartedProxy extends Door {
  /** Where its files are. */
  home: string;
  /** What it has logged, wherever to. */
  readLog(): string;
  end(): Promise<void>;
}

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

const isThere: Record<ProxyName, () => boolean> = {
  nginx: () => hasProgram('nginx', '-v'),
  caddy: () => hasProgram('caddy', 'version'),
};

/** Why no certificates can be made, or false. */
export const withoutOpenssl = !hasProgram('openssl', 'version') && 'openssl, which makes the certificate, is not installed';

/** Why there can be none, or false. */
export function withoutProxy(name: ProxyName): string | false {
  return isThere[name]() ? withoutOpenssl : `${name} is not installed`;
}

export const readProxyFile = (name: ProxyName) =>
  readFileSync(new URL(`../../docs/deploy/${name === 'nginx' ? 'nginx.conf' : 'Caddyfile'}`, import.meta.url), 'utf8');

/** Replaces what must be there: a file that changed is noticed. */
function replace(text: string, parts: readonly (readonly [from: string | RegExp, to: string])[]): string {
  return parts.reduce((changed, [from, to]) => {
    if (changed.search(from) < 0) throw new Error(`the file has no ${from}`);
    return changed.replaceAll(from, to);
  }, text);
}

const address = '127.0.0.1';
/** Whom nginx does not count. */
export const knownAddress = '127.0.0.77';

/** Starts one that hands on to the service's instances at these ports what is asked of n.test and s.test; nginx of localhost, too. */
export async function startProxy(name: ProxyName, ...servicePorts: number[]): Promise<StartedProxy> {
  const home = mkdtempSync(join(tmpdir(), 'sighting-proxy-'));
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const [certificate, key] = [join(home, 'cert.pem'), join(home, 'key.pem')];
  execFileSync(
    'openssl',
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=n.test -keyout ${key} -out ${certificate}
      -addext subjectAltName=DNS:n.test,DNS:s.test,DNS:localhost`.split(/\s+/),
    { stdio: 'ignore' },
  );
  const isNginx = name === 'nginx';
  const file = join(home, 'proxy.conf');
  const temporary = ['fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${home}/${kind};`);
  const text = isNginx
    ? replace(readProxyFile(name), [
        [/^user .*\n/gm, process.getuid?.() === 0 ? 'user root;\n' : ''],
        [/^worker_processes auto;/gm, 'daemon off; worker_processes 2;'],
        [/^include .*\n/gm, ''],
        [/^http \{/gm, `http { ${temporary.join(' ')}`],
        [/\/run\/nginx\.pid/g, `${home}/pid`],
        [/^ *listen \[::\].*\n/gm, ''],
        [/listen 80(?=[ ;])/g, `listen ${address}:${httpPort}`],
        [/listen 443 /g, `listen ${address}:${httpsPort} `],
        [/rp\.example\.org he\.example\.org/g, 'n.test s.test localhost'],
        [/server 127\.0\.0\.1:8080(.*)/g, servicePorts.map((port) => `server 127.0.0.1:${port}$1`).join(' ')],
        [/# 192\.0\.2\.10 1;/g, `${knownAddress} 1;`],
        [/\/etc\/ssl\/species-sighting\/fullchain\.pem/g, certificate],
        [/\/etc\/ssl\/species-sighting\/privkey\.pem/g, key],
        [/\/var\/lib\/nginx/g, home],
        [/\/var\/log\/nginx/g, home],
      ])
    : replace(readProxyFile(name), [
        [/^\{\n/gm, `{\n\tadmin off\n\tdefault_bind ${address}\n\thttp_port ${httpPort}\n\thttps_port ${httpsPort}\n`],
        [/^(\{\$DOMAINS.*\{)$/gm, `$1\n\ttls ${certificate} ${key}`],
        [/\/var\/log\/caddy/g, home],
      ]);
  writeFileSync(file, text);
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    DOMAINS: 'n.test, s.test',
    UPSTREAM: servicePorts.map((port) => `127.0.0.1:${port}`).join(' '),
  };
  const args = isNginx ? ['-e', 'stderr', '-p', home, '-c', file] : ['run', '--adapter', 'caddyfile', '--config', file];
  const running = start(name, args, { env });
  await untilReady(running, () => isOpen(httpsPort));
  return {
    httpPort,
    httpsPort,
    isPlain: false,
    home,
    readLog: () => [running.output(), ...globSync(join(home, '*.log')).map((log) => readFileSync(log, 'utf8'))].join('\n'),
    async end() {
      await running.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

export interface Question extends RequestOptions {
  body?: Uint8Array;
  /** Without TLS. */
  isPlain?: boolean;
}

/** Asks for a path of a host by HTTP/1.1. */
export function ask(door: Door, host: string, path: string, question: Question = {}): Promise<Reply> {
  const { httpPort, httpsPort } = door;
  const { body, isPlain = door.isPlain, headers, ...options } = question;
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const to = { host: '127.0.0.1', path, agent: false, ...options, headers: { Host: host, ...(headers as object) } } as const;
  const sent = isPlain
    ? requestPlain({ ...to, port: httpPort })
    : request({ ...to, port: httpsPort, servername: host, rejectUnauthorized: false });
  sent.on('error', reject);
  sent.on('response', (response) => {
    const chunks: Buffer[] = [];
    response.on('error', reject);
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
    );
  });
  sent.end(body);
  return promise;
}

/** The same by HTTP/2, without a body. */
export async function askHttp2({ httpsPort }: StartedProxy, host: string, path: string): Promise<Reply> {
  const session = connectHttp2(`https://127.0.0.1:${httpsPort}`, { servername: host, rejectUnauthorized: false });
  try {
    const sent = session.request({ ':authority': host, ':path': path });
    const [headers] = await once(sent, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of sent) chunks.push(chunk);
    return { status: headers[':status'], headers, body: Buffer.concat(chunks) };
  } finally {
    session.close();
  }
}
