// The documents: what is cited is explained, links lead somewhere, and what they claim to be an answer is the answer.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeSite, type RunningService, runCli, type Site, startProcess } from './support/process.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = ['*.md', 'docs/*.md', 'sql/**/*.md', 'test/**/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .sort();

/** Heading → the anchor that a link names. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

describe('the documents', () => {
  it('are there', () => {
    for (const name of ['interface', 'decisions', 'architecture', 'glossary', 'operations', 'analysts', 'mirrors'])
      assert.ok(documents.includes(`docs/${name}.md`), name);
    assert.ok(read('README.md').split('\n').length < 150, 'the README is short');
  });

  it('explain every decision that is cited', () => {
    const decisions = read('docs/decisions.md');
    const explained = new Set([...decisions.matchAll(/^(?:\| *`?|#+ .*?)\b([DOS]\d+(?:\.\d+)?)\b/gm)].map(([, id]) => id));
    const cited = ['src/**/*.ts', 'sql/**/*.sql', 'test/**/*.ts']
      .flatMap((pattern) => globSync(pattern, { cwd: root }))
      .concat(documents);
    const missing = cited.flatMap((path) =>
      [...read(path).matchAll(/(?<![\w.-])[DOS]\d(?:\.\d+)?(?![\w-])/g)]
        .filter(([id]) => !explained.has(id))
        .map(([id]) => `${path}: ${id}`),
    );
    assert.deepEqual([...new Set(missing)], []);
    assert.ok(explained.size > 80, `${explained.size}`);
  });

  it('have no link that leads nowhere', () => {
    const wrong = documents.flatMap((path) =>
      [
        ...read(path)
          .replace(/```.*?```/gs, '')
          .matchAll(/\]\((?!https?:)([^)\s]+)\)/g),
      ].flatMap(([, link = '']) => {
        const [file = '', anchor] = link.split('#');
        const target = file === '' ? path : relative(root, join(root, dirname(path), file));
        if (!existsSync(join(root, target))) return [`${path}: ${link}`];
        if (anchor === undefined) return [];
        const anchors = [...read(target).matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
        return anchors.includes(anchor) ? [] : [`${path}: ${link}`];
      }),
    );
    assert.deepEqual(wrong, []);
  });

  it('name only files of this project', () => {
    const wrong = documents.flatMap((path) =>
      [...read(path).matchAll(/`((?:src|sql|test|docs)\/[\w./-]+)`/g)]
        .filter(([, name = '']) => !existsSync(join(root, name)))
        .map(([, name]) => `${path}: ${name}`),
    );
    assert.deepEqual(wrong, []);
  });
});

describe('what a document shows as an answer', () => {
  const run = promisify(execFile);
  let site: Site;
  let service: RunningService;
  before(async () => {
    site = await makeSite();
    await runCli(site, ['migrate']);
    await runCli(site, ['demo', 'load']);
    service = await startProcess(site, { DEFAULT_TENANT: 'RP' });
  });
  after(async () => {
    await service?.stop();
    await site?.remove();
  });

  const shown = documents.flatMap((path) =>
    [...read(path).matchAll(/^```console\n(.*?)^```/gms)].flatMap(([, block = '']) =>
      block
        .split(/^\$ /m)
        .slice(1)
        .map((text) => {
          const [command = '', ...answer] = text.split('\n');
          return { path, command, answer: answer.join('\n').trimEnd() };
        }),
    ),
  );

  it('is in the README', () => {
    assert.ok(shown.some(({ path }) => path === 'README.md'));
  });
  for (const { path, command, answer } of shown) {
    it(`${path}: ${command.slice(0, 80)}`, async () => {
      const here = command.replaceAll('http://localhost:8080', service.url);
      const { stdout } = await run('bash', ['-c', here]);
      assert.equal(stdout.replaceAll(service.url, 'http://localhost:8080').trimEnd(), answer);
    });
  }
});
