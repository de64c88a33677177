// The documents: what is cited is explained, links lead somewhere, and what they claim to be an answer is the answer.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { columnNames } from '../src/catalog/sichtbeobachtung-columns.ts';
import { loadConfig, settings } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import type { Deps } from '../src/http/context.ts';
import { makeOpenapi } from '../src/http/openapi/document.ts';
import type { Schema } from '../src/http/openapi/schemas.ts';
import { listRoutes } from '../src/http/routes/routes.ts';
import { formatBounds } from './support/bounds.ts';
import { root } from './support/child.ts';
import { onPostgres, openTestDatabase } from './support/database.ts';
import { makeSite, type RunningService, runCli, type Site, startProcess } from './support/process.ts';
import { formatSettings } from './support/settings.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
// Not those of packages: the benchmark installs some below test, and what documents show as commands is run.
const list = (pattern: string) => globSync(pattern, { cwd: root, exclude: ['**/node_modules'] });
const documents = ['*.md', 'docs/**/*.md', 'sql/**/*.md', 'test/**/*.md'].flatMap(list).sort();

/** Heading → the anchor that a link names. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

describe('the documents', () => {
  it('are there', () => {
    for (const name of ['interface', 'decisions', 'architecture', 'glossary', 'operations/install', 'analysts', 'mirrors'])
      assert.ok(documents.includes(`docs/${name}.md`), name);
    assert.ok(read('README.md').split('\n').length < 150, 'the README is short');
  });

  it('have every decision that is cited, and each one once', () => {
    const decisions = read('docs/decisions.md');
    const ids = [...decisions.matchAll(/^(?:- \*\*|#+ )([DOPS]\d+(?:\.\d+)?)\b/gm)].map(([, id = '']) => id);
    const cited = ['src/**/*.{ts,js}', 'sql/**/*.sql', 'test/**/*.ts'].flatMap(list).concat(documents);
    const missing = cited.flatMap((path) =>
      [...read(path).matchAll(/(?<![\w.-])[DOPS]\d+(?:\.\d+)?(?![\w-])/g)]
        .filter(([id]) => !ids.includes(id))
        .map(([id]) => `${path}: ${id}`),
    );
    assert.deepEqual([...new Set(missing)], []);
    assert.deepEqual(
      ids.filter((id, n) => ids.indexOf(id) !== n),
      [],
    );
    assert.ok(ids.length > 150, `${ids.length}`);
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
      [...read(path).matchAll(/`((?:src|sql|test|docs|patches)\/[\w./*{},-]+)`/g)]
        .filter(([, name = '']) => globSync(name, { cwd: root }).length === 0)
        .map(([, name]) => `${path}: ${name}`),
    );
    assert.deepEqual(wrong, []);
  });

  // What a release was like stands in the changelog, whatever became of it.
  const ofNow = documents.filter((path) => path !== 'CHANGELOG.md');
  const listNames = (pattern: RegExp) =>
    ofNow.flatMap((path) => [...read(path).matchAll(pattern)].map(([, name = '']) => ({ path, name })));

  it('name only what there is in the database', () => {
    const code = globSync('sql/{code,migrations}/**/*.sql', { cwd: root }).map(read).join('\n').replaceAll('"', '');
    const made =
      /\b(?:function|procedure|view|table|type|domain)\s+(?:if not exists\s+)?((?:api|private|gis|ausgabe|portal)\.\w+)/gi;
    const there = [...new Set([...code.matchAll(made)].map(([, name = '']) => name))];
    const named = listNames(/`((?:api|private|gis|ausgabe|portal)\.\w+…?)/g);
    const isThere = (name: string) =>
      there.some((one) => (name.endsWith('…') ? one.startsWith(name.slice(0, -1)) : one === name));
    assert.ok(named.length > 50, `${named.length}`);
    assert.deepEqual(
      named.filter(({ name }) => !isThere(name)),
      [],
    );
  });

  it('name only functions and files of TypeScript that there are', () => {
    const files = list('{src,test}/**/*.ts').map((path) => path.replaceAll('\\', '/'));
    const code = files.map(read).join('\n');
    const wrongFunctions = listNames(/`([a-z]+[A-Z]\w*)\(/g).filter(
      ({ name }) => !new RegExp(`\\b(?:function|const|class) ${name}\\b|^ +(?:async )?${name}\\(`, 'm').test(code),
    );
    const wrongFiles = listNames(/`([\w/-]+\.ts)`/g).filter(({ name }) => !files.some((file) => `/${file}`.endsWith(`/${name}`)));
    assert.deepEqual([...wrongFunctions, ...wrongFiles], []);
  });
});

interface OpenapiOperation {
  parameters: { name: string }[];
  requestBody?: { content: Record<string, { schema: { properties: Record<string, Schema> } }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

describe('docs/interface.md', () => {
  const text = read('docs/interface.md');
  const openapi = makeOpenapi(listRoutes({} as Deps), '') as {
    paths: Record<string, Record<string, OpenapiOperation>>;
    components: { schemas: Record<string, Schema> };
  };
  // Heading of the second level → all up to the next one.
  const chapters = text.split(/^(?=## )/m).slice(1);
  const conventions = chapters.find((chapter) => chapter.startsWith('## Conventions')) ?? '';
  const chapterOf = (anchor: string) =>
    chapters.find((chapter) => [...chapter.matchAll(/^#+ +(.+)$/gm)].some(([, heading = '']) => anchorOf(heading) === anchor));

  // The table of operations says where each is described: [`GET /nutzer/{id}`](#read-accounts), [`PUT`](#change-an-account)
  const homes = new Map<string, string>();
  for (const [row] of (chapters.find((chapter) => chapter.startsWith('## Operations')) ?? '').matchAll(/^\| \[.*$/gm)) {
    let path = '';
    for (const [, names = '', anchor = ''] of row.matchAll(/\[([^\]]*)\]\(#([^)]+)\)/g))
      for (const [, method = '', of] of names.matchAll(/`([A-Z]+)(?: (\/[^`]*))?`/g)) {
        path = of ?? path;
        homes.set(`${method.toLowerCase()} ${path}`, chapterOf(anchor) ?? '');
      }
  }

  /** Names of the members of a record, and of the records in it. */
  function listMembers(schema: Schema): string[] {
    const ref = typeof schema.$ref === 'string' ? openapi.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : undefined;
    const properties = (schema.properties ?? {}) as Record<string, Schema>;
    return [
      ...(ref ? listMembers(ref) : []),
      ...(schema.items ? listMembers(schema.items as Schema) : []),
      ...Object.entries(properties).flatMap(([name, member]) => [name, ...listMembers(member)]),
    ];
  }
  const listUnnamed = (where: string, names: string[]) =>
    names.filter((name) => !new RegExp(`[\`"]${name}(=[^\`]*)?[\`"]`).test(where));

  it('has every operation in its table', () => {
    const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    // The override is a convention, not an operation of its own.
    const overrides = ['post /nutzer/{id}', 'post /sichtbeobachtungen/{id}'];
    assert.deepEqual([...homes.keys(), ...overrides].sort(), operations.sort());
    assert.ok([...homes.values()].every((chapter) => chapter !== ''));
  });

  it('names every parameter, every part of a form and every member of an answer where it describes the operation', () => {
    const unnamed = Object.entries(openapi.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters, requestBody, responses }]) => {
        const where = `${conventions}${homes.get(`${method} ${path}`) ?? homes.get(`put ${path}`)}`;
        const success =
          Object.entries(responses).find(([status]) => status < '300')?.[1].content?.['application/json']?.schema ?? {};
        const forms = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => Object.keys(schema.properties));
        const names = [...parameters.map(({ name }) => name), ...forms, ...listMembers(success)];
        return listUnnamed(where, names).map((name) => `${method} ${path}: ${name}`);
      }),
    );
    assert.deepEqual([...new Set(unnamed)], []);
    assert.deepEqual(listUnnamed(conventions, listMembers({ $ref: '#/components/schemas/Fehler' })), []);
    assert.deepEqual(listUnnamed(conventions, ['nirgends']), ['nirgends']);
  });
});

describe('docs/operations', () => {
  it('explains every line of the log, and no others', () => {
    const [, chapter = ''] = read('docs/operations/monitoring.md').split(/^## Log$/m);
    const [table = ''] = chapter.split(/^## /m);
    const explained = [...table.matchAll(/^\| (`.*?) \| /gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, message]) => message),
    );
    const written = globSync('src/**/*.ts', { cwd: root }).flatMap((path) =>
      [
        ...read(path).matchAll(/\blog\.(?:debug|info|warn|error|fatal)\((?:[^;]*?, )?'([^']+)'\)|watchFaults\(log, '([^']+)'\)/g),
      ].map(([, message, fault]) => message ?? fault),
    );
    assert.ok(written.length > 15, `${written.length}`);
    assert.deepEqual([...new Set(explained)].sort(), [...new Set([...written, 'request'])].sort());
  });

  it('has the table of settings as the code reads them', () => {
    const expected = formatSettings();
    assert.ok(read('docs/operations/settings.md').includes(expected), `the table must be:\n\n${expected}\n`);
  });

  it('has the table of bounds as the code enforces them', () => {
    const expected = formatBounds();
    assert.ok(read('docs/operations/bounds.md').includes(expected), `the table must be:\n\n${expected}\n`);
  });

  it('names every column of a file of sightings in its table', () => {
    const [, chapter = ''] = read('docs/operations/imports.md').split(/^## Sightings$/m);
    const [table = ''] = chapter.split(/^## /m);
    assert.deepEqual(
      columnNames.filter((name) => !new RegExp(`^\\|.*\`${name}\`.*?\\|`, 'm').test(table)),
      [],
    );
  });
});

describe('docs/privacy.md: no column about a person without a line, no line without a column (D7.5)', () => {
  const text = read('docs/privacy.md');
  const [, chapter = ''] = text.split('\n## What is stored\n');
  const [stored = ''] = chapter.split('\n## ');
  const namesIn = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);

  /** Table → columns, as the document has them. */
  const described = new Map(
    [...stored.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, table = '', columns = '']) => [table, namesIn(columns).sort()]),
  );
  const [, impersonal = ''] = stored.split('Nothing about people is in');
  const without = namesIn(impersonal);

  let sql: Sql;
  let columns: Map<string, string[]>;
  before(async () => {
    ({ sql } = await openTestDatabase());
    const rows = await sql<{ name: string; columns: string }[]>`
      select c.relname::text as name, string_agg(a.attname::text, ',') as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'portal'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
      group by c.oid, c.relname`;
    columns = new Map(rows.map((row) => [row.name, row.columns.split(',').sort()]));
  });

  it('has each table once: with all its columns, or among those without anything about people', () => {
    assert.deepEqual([...described.keys(), ...without].sort(), [...columns.keys()].sort());
    for (const [table, names] of described) assert.deepEqual(names, columns.get(table), table);
  });

  it('has no table among those without anything about people that names an account, or holds a text that somebody wrote', () => {
    const personal = /^(nutzer|experte|bemerkung$|email|vorname|nachname|loginname|autor$)/;
    const wrong = without.flatMap((table) =>
      (columns.get(table) ?? []).filter((name) => personal.test(name)).map((name) => `${table}.${name}`),
    );
    assert.deepEqual(wrong, []);
  });

  it('says how long things stay as the settings have it', () => {
    const { keepDays, tokenTtlDays } = loadConfig({});
    const days = {
      TOKEN_TTL_DAYS: tokenTtlDays,
      KEEP_ATTEMPTS_DAYS: keepDays.attempts,
      KEEP_NETWORKS_DAYS: keepDays.networks,
      KEEP_UNCONFIRMED_DAYS: keepDays.unconfirmed,
      KEEP_MAILS_DAYS: keepDays.mails,
      KEEP_DEAD_MAILS_DAYS: keepDays.deadMails,
    };
    assert.deepEqual(
      Object.keys(settings).filter((name) => name.startsWith('KEEP_') && !(name in days)),
      [],
    );
    for (const [name, count] of Object.entries(days)) {
      const rows = [...text.matchAll(new RegExp(`^\\|[^|]+\\| (\\d+) days?\\b[^|]*\\| \`${name}\` \\|$`, 'gm'))];
      assert.ok(rows.length > 0, name);
      for (const [line, said] of rows) assert.equal(Number(said), count, line);
    }
  });
});

// As whoever reads them does it: with the embedded database.
describe('what a document shows as an answer', { skip: onPostgres && 'the same as without DATABASE_URL' }, () => {
  const run = promisify(execFile);
  let site: Site;
  let service: RunningService;
  before(async () => {
    if (onPostgres) return;
    site = await makeSite({ isMigrated: true });
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
