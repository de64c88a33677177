// npm run archive -- DIRECTORY: a release as one file, with the packages that it runs on and without those that only developers need.
// Made of the last commit, and the same bytes whenever it is made of it.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream, globSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';
import { root } from './child.ts';
import { version } from './releases.ts';

const usage = `npm run archive -- [options] DIRECTORY: makes species-sighting-service-${version}-linux-CPU.tar.gz of the last commit, and its SHA-256.

  --cpu CPU      x64 or arm64; otherwise that of this machine
`;

const released = ['package.json', 'package-lock.json', 'LICENSE', 'README.md', 'CHANGELOG.md', 'docs', 'patches', 'src', 'sql'];

async function makeArchive(directory: string, cpu: string): Promise<string> {
  const name = `species-sighting-service-${version}-linux-${cpu}`;
  const work = await mkdtemp(join(tmpdir(), 'sighting-archive-'));
  try {
    const place = join(work, name);
    const source = execFileSync('git', ['archive', '--format=tar', `--prefix=${name}/`, 'HEAD', ...released], {
      cwd: root,
      maxBuffer: 2 ** 30,
    });
    execFileSync('tar', ['-xf', '-', '-C', work], { input: source });
    // Two packages are programs, and so of one kind of machine: Node.js, and esbuild, which reads TypeScript. No package needs its
    // install scripts.
    const machine = ['--os=linux', `--cpu=${cpu}`, '--libc=glibc'];
    execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', ...machine], {
      cwd: place,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    execFileSync(process.execPath, ['node_modules/patch-package/index.js'], {
      cwd: place,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    // Headers and manuals of Node.js are of no use here; TypeScript comes along because a package may be used with it.
    const unused = [
      'node_modules/{.package-lock.json,typescript,@typescript,.bin/tsc}',
      'node_modules/node-linux-*/{include,share,CHANGELOG.md,README.md}',
    ];
    for (const path of unused.flatMap((pattern) => globSync(pattern, { cwd: place })))
      await rm(join(place, path), { recursive: true, force: true });

    const committed = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();
    const same = ['--sort=name', `--mtime=@${committed}`, '--owner=0', '--group=0', '--numeric-owner', '--mode=u+rwX,go+rX,go-w'];
    const file = join(directory, `${name}.tar.gz`);
    await mkdir(directory, { recursive: true });
    const tar = spawn('tar', ['--format=gnu', ...same, '-cf', '-', '-C', work, name], { stdio: ['ignore', 'pipe', 'inherit'] });
    const closed = once(tar, 'close');
    await pipeline(tar.stdout, createGzip({ level: 9 }), createWriteStream(file));
    const [code] = await closed;
    if (code !== 0) throw new Error(`tar ended with ${code}`);
    return file;
  } finally {
    await rm(work, { recursive: true });
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { cpu: { type: 'string', default: process.arch }, help: { type: 'boolean', short: 'h', default: false } },
});
const [directory] = positionals;
if (values.help || directory === undefined || positionals.length > 1 || !['x64', 'arm64'].includes(values.cpu)) {
  (values.help ? console.log : console.error)(usage);
  process.exit(values.help ? 0 : 1);
}
const file = await makeArchive(resolve(directory), values.cpu);
const sum = createHash('sha256');
await pipeline(createReadStream(file), sum);
const line = `${sum.digest('hex')}  ${basename(file)}\n`;
await writeFile(`${file}.sha256`, line);
console.log(`${((await stat(file)).size / 1e6).toFixed(0)} MB\n${line.trim()}`);
