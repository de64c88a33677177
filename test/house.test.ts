// The house rules: who may import whom, and where each concern of the SQL lives. Read from the text of the files.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { describe, it } from 'node:test';
import { manifestFile } from '../src/db/migrate.ts';
import { root } from './support/child.ts';

/** Path below the repository → text. */
type Sources = Record<string, string>;

function readSources(pattern: string): Sources {
  const paths = globSync(pattern, { cwd: root }).sort();
  assert.ok(paths.length > 0, `${pattern} finds files`);
  return Object.fromEntries(
    paths.map((path) => [relative('.', path).replaceAll('\\', '/'), readFileSync(join(root, path), 'utf8')]),
  );
}

interface Import {
  file: string;
  target: string;
  typeOnly: boolean;
}

function listImports(sources: Sources): Import[] {
  return Object.entries(sources).flatMap(([file, text]) => {
    const plain = text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, '');
    return [
      ...[...plain.matchAll(/^(?:import|export)\b([^;'"]*?)from\s+['"]([^'"]+)['"]/gm)],
      ...[...plain.matchAll(/^(import)\s+['"]([^'"]+)['"]/gm)],
      ...[...plain.matchAll(/\b(import|require|createRequire\([^)]*\))\(\s*['"]([^'"]+)['"]/g)],
    ].map(([, clause = '', target = '']) => ({ file, target, typeOnly: /^\s*type\s/.test(clause) }));
  });
}

/** main, cli, preflight, prepare, welcome and stop are the entries; every other top-level file or folder is a room of its own. */
function roomOf(path: string): string {
  const [, first = ''] = path.split('/');
  const name = first.replace(/\.[jt]s$/, '');
  return ['main', 'cli', 'preflight', 'prepare', 'welcome', 'stop'].includes(name) ? 'entry' : name;
}

const allowedRooms: Record<string, string[]> = {
  entry: ['entry', 'app', 'auskunft', 'config', 'db', 'export', 'http', 'jobs', 'media', 'catalog', 'backup', 'guard', 'observe'],
  app: ['http', 'observe', 'guard', 'db'],
  http: ['http', 'auskunft', 'db', 'export', 'media', 'sichtbeobachtung-felder', 'guard', 'observe'],
  jobs: ['jobs', 'db', 'export', 'media', 'guard', 'observe'],
  media: ['media', 'guard', 'observe'],
  export: ['export', 'db', 'media', 'guard'],
  auskunft: ['auskunft', 'db', 'media', 'guard'],
  catalog: ['catalog', 'db', 'media', 'sichtbeobachtung-felder', 'guard', 'observe'],
  backup: ['backup', 'db', 'media', 'guard', 'observe'],
  db: ['db', 'sichtbeobachtung-felder', 'guard'],
  guard: ['guard'],
  observe: ['observe'],
  'sichtbeobachtung-felder': [],
  config: [],
};

const packageHomes: [name: RegExp, home: RegExp][] = [
  [/^postgres$|^@electric-sql\//, /^src\/db\/(connection\.ts|migrate\.ts|embedded\/.*)$/],
  // Declares the tables, and reads its own migrations; statements are plain SQL.
  [/^drizzle-orm(\/|$)/, /^src\/db\/(schema\/.*|tables\.ts)$/],
  [/^hono(\/|$)|^@hono\//, /^src\/(app\.ts|main\.ts|http\/.*)$/],
  [/^pg-boss(\/|$)/, /^src\/jobs\//],
  [/^jimp$|^sharp$/, /^src\/media\//],
];

function listImportProblems(sources: Sources): string[] {
  return listImports(sources).flatMap(({ file, target, typeOnly }) => {
    if (target.startsWith('node:')) return [];
    if (!target.startsWith('.')) {
      return packageHomes.filter(([name, home]) => name.test(target) && !home.test(file)).map(() => `${file} imports ${target}`);
    }
    const path = posix.normalize(posix.join(dirname(file), target));
    const [from, to] = [roomOf(file), roomOf(path)];
    const allowed = allowedRooms[from];
    if (!allowed) return [`${file} is in a room that the design does not know`];
    const isException =
      (['http', 'media', 'backup'].includes(from) && to === 'config' && typeOnly) ||
      (from === 'http' && path === 'src/jobs/boss.ts');
    const isLeaked = /^src\/(main|cli)\.ts$/.test(path);
    return (allowed.includes(to) || isException) && !isLeaked ? [] : [`${file} imports ${path}`];
  });
}

// Within src/http: what travels knows no operation, and the document knows those that it is given.
const httpStrangers: [from: RegExp, to: RegExp][] = [
  [/^src\/http\/[^/]+$/, /^src\/http\/(media|openapi|outputs|routes)\//],
  [/^src\/http\/wire\//, /^src\/http\/(media|openapi|outputs|routes)\//],
  [/^src\/http\/media\//, /^src\/http\/(openapi|outputs|routes)\//],
  [/^src\/http\/openapi\//, /^src\/http\/(media|outputs|routes)\//],
  [/^src\/http\/outputs\//, /^src\/http\/(openapi|routes)\//],
];

function listHttpProblems(sources: Sources): string[] {
  return listImports(sources).flatMap(({ file, target }) => {
    const path = posix.normalize(posix.join(dirname(file), target));
    return httpStrangers.some(([from, to]) => from.test(file) && to.test(path)) ? [`${file} imports ${path}`] : [];
  });
}

/** The first circle that each file is found in; a file of one that is named already is not named again. */
function listCircles(imports: Map<string, string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
    else if (!done.has(file)) for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}

describe('the rooms of src', () => {
  const sources = readSources('src/**/*.{ts,js}');

  it('import each other only in the directions of the design', () => {
    assert.ok(listImports(sources).length > 100, 'the import lines are found');
    assert.deepEqual(listImportProblems(sources), []);
  });

  it('of src/http import each other only in the directions of the design, types included', () => {
    assert.deepEqual(listHttpProblems(sources), []);
    const breaches: Sources = {
      'src/http/context.ts': "import { route } from './routes/route.ts';\n",
      'src/http/wire/a.ts': "import type { Route } from '../routes/route.ts';\n",
      'src/http/wire/b.ts': "import { tags } from '../openapi/operation.ts';\n",
      'src/http/media/a.ts': "import { a } from '../routes/medien.ts';\n",
      'src/http/openapi/a.ts': "import { listRoutes } from '../routes/routes.ts';\n",
      'src/http/outputs/a.ts': "import { route } from '../routes/route.ts';\n",
    };
    for (const [file, text] of Object.entries(breaches)) assert.equal(listHttpProblems({ [file]: text }).length, 1, file);
    assert.deepEqual(listHttpProblems({ 'src/http/routes/a.ts': "import { makeOpenapi } from '../openapi/document.ts';\n" }), []);
  });

  it('import each other in no circle, types included', () => {
    const imports = new Map<string, string[]>(Object.keys(sources).map((file) => [file, []]));
    for (const { file, target } of listImports(sources))
      if (target.startsWith('.')) imports.get(file)?.push(posix.normalize(posix.join(dirname(file), target)));
    assert.deepEqual(listCircles(imports), []);
    const circle = new Map([
      ['a', ['b', 'x']],
      ['b', ['c']],
      ['c', ['a']],
      ['x', []],
    ]);
    assert.deepEqual(listCircles(circle), ['a → b → c → a']);
  });

  it('are held to it: each kind of breach is reported', () => {
    const breaches: Sources = {
      'src/db/a.ts': "import { b } from '../http/b.ts';\n",
      'src/db/b.ts': "import {\n  a,\n  b,\n} from '../jobs/boss.ts';\n",
      'src/db/c.ts': "import { Hono } from 'hono';\n",
      'src/db/d.ts': "export * from '../catalog/csv.ts';\n",
      'src/http/a.ts': "import { loadConfig } from '../config.ts';\n",
      'src/http/b.ts': "import postgres from 'postgres';\n",
      'src/media/a.ts': "import { loadConfig } from '../config.ts';\n",
      'src/http/c.ts': "import { mail } from '../jobs/mail.ts';\n",
      'src/http/d.ts': "import type { Log } from '../app.ts';\n",
      'src/http/e.ts': "const x = await import('pg-boss');\n",
      'src/guard/a.ts': "import type { Sql } from '../db/client.ts';\n",
      'src/observe/a.ts': "import '../guard/token.ts';\n",
      'src/config.ts': "import { a } from './guard/a.ts';\n",
      'src/catalog/a.ts': "import { drizzle } from 'drizzle-orm/postgres-js';\n",
      'src/jobs/a.ts': "import { serve } from '@hono/node-server';\n",
      'src/main.ts': "import { a } from './cli.ts';\n",
      'src/db/art.ts': "import { drizzle } from 'drizzle-orm/postgres-js';\n",
      'src/http/f.ts': "import { Jimp } from 'jimp';\n",
      'src/helper/a.ts': "import { a } from './b.ts';\n",
    };
    for (const [file, text] of Object.entries(breaches)) {
      assert.notEqual(listImportProblems({ [file]: text }).length, 0, `${file}: ${text}`);
    }
    assert.deepEqual(
      listImportProblems({
        'src/http/a.ts': "import type { Config } from '../config.ts';\nimport { enqueue } from '../jobs/boss.ts';\n",
        'src/welcome.ts': "import type { Config } from './config.ts';\n",
      }),
      [],
    );
  });

  it('read the environment only in the entries, as the argument of loadConfig', () => {
    const wrong = Object.entries(sources).flatMap(([file, text]) =>
      [...text.matchAll(/^.*\bprocess\.env\b.*$/gm)]
        .map(([line]) => line)
        .filter((line) => !/^src\/(main|cli)\.ts$/.test(file) || !line.includes('loadConfig(process.env)'))
        .map((line) => `${file}: ${line}`),
    );
    assert.deepEqual(wrong, []);
  });

  it('have no default export', () => {
    const wrong = Object.keys(sources).filter((file) =>
      /^export default\b|^export \{[^}]*\bas default\b/m.test(sources[file] ?? ''),
    );
    assert.deepEqual(wrong, []);
  });

  it('leave SQL to db: no other room names a schema of the database', () => {
    const wrong = Object.entries(sources).flatMap(([file, text]) =>
      file.startsWith('src/db/')
        ? []
        : [...text.matchAll(/\b(portal|private|gis)\.[a-z_]+|\b(from|select) api\.[a-z_]+/g)].map(([hit]) => `${file}: ${hit}`),
    );
    assert.deepEqual(wrong, []);
  });

  it('call nothing of schema private, and write neither protokoll nor qs', () => {
    const wrong = Object.entries(sources).flatMap(([file, text]) =>
      [...text.matchAll(/\bprivate\.[a-z_]+\(|insert(\s+into\s+portal\.|\(\s*(schema\.)?)(protokoll|qs)\b/gi)].map(
        ([hit]) => `${file}: ${hit}`,
      ),
    );
    assert.deepEqual(wrong, []);
  });
});

interface SqlFunction {
  file: string;
  /** With its schema. */
  name: string;
  returns: string;
  body: string;
}

/** Without comments; texts stay. */
function stripComments(sql: string): string {
  return sql.replace(/--[^\n]*/g, '').replace(/\/\*[\s\S]*?\*\//g, '');
}

function listFunctions(sources: Sources): SqlFunction[] {
  const pattern = /create\s+(?:or\s+replace\s+)?function\s+([\w.]+)\s*\(([\s\S]*?)\bas\s+(\$\w*\$)([\s\S]*?)\3/gi;
  return Object.entries(sources).flatMap(([file, text]) =>
    [...stripComments(text).matchAll(pattern)].map(([, name = '', head = '', , body = '']) => ({
      file,
      name: name.toLowerCase(),
      returns: /\breturns\s+(\w+)/i.exec(head)?.[1]?.toLowerCase() ?? '',
      body,
    })),
  );
}

/** The functions that write the logs without being a trigger function or a private.set_… that only trigger functions reach. */
function listLogWriters(functions: SqlFunction[]): string[] {
  const reachedOnlyByTriggers = (name: string, seen: Set<string>): boolean => {
    if (seen.has(name)) return true;
    seen.add(name);
    const callers = functions.filter((f) => f.name !== name && new RegExp(`\\b${name.replace('.', '\\.')}\\s*\\(`).test(f.body));
    return callers.every(
      (f) => f.returns === 'trigger' || (f.name.startsWith('private.set_') && reachedOnlyByTriggers(f.name, seen)),
    );
  };
  return functions
    .filter((f) => /insert\s+into\s+portal\.(protokoll|qs)\b|(update|delete\s+from)\s+portal\.(protokoll|qs)\b/i.test(f.body))
    .filter((f) => f.returns !== 'trigger' && !(f.name.startsWith('private.set_') && reachedOnlyByTriggers(f.name, new Set())))
    .map((f) => f.name);
}

describe('the SQL of the functions', () => {
  const sources = readSources('sql/code/**/*.sql');
  const functions = listFunctions(sources);
  const filesWith = (pattern: RegExp) =>
    Object.entries(sources)
      .filter(([, text]) => pattern.test(stripComments(text)))
      .map(([file]) => file);

  it('stands in the manifest, each file once', () => {
    const listed = readFileSync(join(root, 'sql/code', manifestFile), 'utf8').match(/^[\w/]+\.sql/gm) ?? [];
    assert.deepEqual(listed.map((file) => `sql/code/${file}`).sort(), Object.keys(sources).sort());
  });

  it('is read as a whole: every function is found', () => {
    const heads = Object.values(sources).flatMap((text) => [...text.matchAll(/^ *create .*\bfunction\b/gim)]);
    assert.equal(functions.length, heads.length);
    assert.ok(functions.every((f) => f.returns !== '' && /^(private|api|ausgabe)\./.test(f.name)));
  });

  // Tiles are in a system of their own, and what outputs call may not call the functions of the service.
  it('projects in raum/projection.sql and raum/gitter.sql only, and for tiles', () => {
    // gis/dangers.sql names it, and takes it from everybody.
    assert.deepEqual(filesWith(/\bst_transform\s*\((?!public\.geometry, integer\))/i), [
      'sql/code/ausgabe/tile_layers.sql',
      'sql/code/ausgabe/tile_sichtbeobachtung.sql',
      'sql/code/raum/gitter.sql',
      'sql/code/raum/projection.sql',
    ]);
  });

  it('snaps to the grid in raum/raster.sql only', () => {
    // The other one puts cells together, and outputs may not call what is private.
    assert.deepEqual(filesWith(/\b5000(\.0+)?\b/), ['sql/code/ausgabe/raster.sql', 'sql/code/raum/raster.sql']);
    // There to the whole numbers of a tile.
    assert.deepEqual(filesWith(/\bst_snaptogrid\b|\bst_squaregrid\b/i), ['sql/code/ausgabe/tile_layers.sql']);
    assert.deepEqual(filesWith(/\bfloor\s*\(/i), [
      'sql/code/ausgabe/raster.sql',
      'sql/code/raum/gitter.sql',
      'sql/code/raum/raster.sql',
    ]);
    assert.deepEqual(filesWith(/function\s+private\.to_(raster_point|cell|cell_polygon)\b/i), ['sql/code/raum/raster.sql']);
  });

  it('decides in one function whether a place is masked', () => {
    assert.deepEqual(filesWith(/function\s+private\.is_masked\b/i), ['sql/code/sichtbeobachtung/schutz.sql']);
    const deciding = functions.filter((f) => /case when [^;]*?\b(raster_point)\b else/i.test(f.body)).map((f) => f.name);
    assert.ok(deciding.length > 0);
    for (const name of deciding) {
      const body = functions.find((f) => f.name === name)?.body ?? '';
      assert.ok(
        body.includes('private.is_masked(') || name === 'private.to_shown_point',
        `${name} chooses the shown place without private.is_masked`,
      );
    }
  });

  it('writes protokoll and qs in trigger functions only, or in what they alone call', () => {
    assert.ok(functions.some((f) => /insert into portal\.protokoll/i.test(f.body)));
    assert.ok(functions.some((f) => /insert into portal\.qs/i.test(f.body)));
    assert.deepEqual(listLogWriters(functions), []);
    const bare = Object.keys(sources).filter((file) => {
      const outside = stripComments(sources[file] ?? '').replace(/(\$\w*\$)[\s\S]*?\1/g, '');
      return /insert\s+into\s+portal\.(protokoll|qs)\b/i.test(outside);
    });
    assert.deepEqual(bare, []);
  });

  it('would be caught writing them elsewhere', () => {
    const make = (name: string, returns: string, body: string) =>
      `create or replace function ${name}()\n  returns ${returns}\nas $$\nbegin\n  ${body};\nend\n$$;\n`;
    const write = 'insert into portal.protokoll (audit) values (null)';
    const breaches = [
      make('api.create_x', 'void', write),
      make('private.log_x', 'void', write),
      make('private.set_x', 'void', write) + make('api.y', 'void', 'perform private.set_x()'),
      make('private.set_x', 'void', write) +
        make('private.set_y', 'void', 'perform private.set_x()') +
        make('api.z', 'void', 'perform private.set_y()'),
    ];
    for (const text of breaches) assert.notEqual(listLogWriters(listFunctions({ 'x.sql': text })).length, 0, text);
    const fine = make('private.set_x', 'void', write) + make('private.x_after_update', 'trigger', 'perform private.set_x()');
    assert.deepEqual(listLogWriters(listFunctions({ 'x.sql': fine })), []);
  });

  it('never calls schema api from private, nor anything of the project from the tables', () => {
    const wrong = functions.filter((f) => f.name.startsWith('private.') && /\bapi\.\w+/i.test(f.body)).map((f) => f.name);
    assert.deepEqual(wrong, []);
    const migrations = readSources('sql/migrations/*.sql');
    for (const [file, text] of Object.entries(migrations)) {
      assert.doesNotMatch(stripComments(text), /\b"?(api|private)"?\s*\.\s*"?[a-z_]+/i, file);
    }
  });

  it('never notifies: every login can fill the queue of messages, and whoever notifies then fails at the commit', () => {
    const notifying = functions.filter((f) => /\bnotify\b|pg_notify/i.test(f.body)).map((f) => f.name);
    assert.deepEqual(notifying, []);
  });

  it('keeps what analysts read out of api and private', () => {
    const reading = functions.filter((f) => !f.name.startsWith('ausgabe.') && /\bgis\./i.test(f.body)).map((f) => f.name);
    assert.deepEqual(reading, []);
  });

  it('O0.1 has outputs read what analysts read, and nothing else', () => {
    const beyond = (list: SqlFunction[]) =>
      list.filter((f) => f.name.startsWith('ausgabe.') && /\b(portal|private|api)\./i.test(f.body)).map((f) => f.name);
    assert.deepEqual(beyond(functions), []);
    assert.equal(beyond([{ file: 'x.sql', name: 'ausgabe.x', returns: 'integer', body: 'select 1 from portal.art' }]).length, 1);
  });
});

// Longer than this, a file needs a reason to be one file.
const maxLines = 300;
const longFiles: Record<string, string> = {
  'src/catalog/catalogue.ts': 'all files of a catalogue are read and checked together, because they refer to each other',
  'src/config.ts': 'each setting with its default, meaning and check; the table is most of it',
  'src/db/embedded/bridge.ts': "the server's side of one protocol, whose states depend on each other",
  'sql/code/sichtbeobachtung/import.sql':
    'one import: the staging table and the functions that pass it on, of which one lists all errors',
  'sql/code/sichtbeobachtung/lesen.sql': 'both renderings, which must say the same, side by side',
  'sql/code/sichtbeobachtung/listen.sql': 'the choice of a walk, with the table of walks at its head',
  'sql/code/raum/projection.sql': 'all projections, those that outputs call included, so that none is made elsewhere',
  'sql/code/abgleich/seite.sql': 'a page of the feed and the two kinds of steps that it is made of, in one snapshot',
};

/** Files that are long without a reason, and reasons for files that are not long. */
function listLengthProblems(sources: Sources, reasons: Record<string, string>): string[] {
  const long = Object.entries(sources).filter(([, text]) => text.trimEnd().split('\n').length > maxLines);
  const names = long.map(([file]) => file);
  return [
    ...names.filter((file) => !(file in reasons)).map((file) => `${file} has more than ${maxLines} lines`),
    ...Object.keys(reasons).flatMap((file) => (names.includes(file) ? [] : [`${file} needs no reason any more`])),
  ];
}

describe('the length of a file', () => {
  it(`is at most ${maxLines} lines, or has a reason; no reason is left over`, () => {
    const sources = { ...readSources('src/**/*.ts'), ...readSources('sql/code/**/*.sql') };
    assert.deepEqual(listLengthProblems(sources, longFiles), []);
  });

  it('would be noticed in either direction', () => {
    const long = 'x\n'.repeat(maxLines + 1);
    assert.deepEqual(listLengthProblems({ 'src/a.ts': long }, {}), [`src/a.ts has more than ${maxLines} lines`]);
    assert.deepEqual(listLengthProblems({ 'src/a.ts': 'x\n'.repeat(maxLines) }, {}), []);
    assert.deepEqual(listLengthProblems({ 'src/a.ts': 'x\n' }, { 'src/a.ts': 'r' }), ['src/a.ts needs no reason any more']);
  });
});

interface Synonym {
  not: string;
  but: string;
  /** Beginnings of paths. */
  within: string[];
}

/** The table in docs/glossary.md: | not | but | in | */
function readSynonyms(): Synonym[] {
  const [, table = ''] = readFileSync(join(root, 'docs/glossary.md'), 'utf8').split('## Words that are not used');
  const split = (cell: string) => cell.split(',').map((part) => part.trim());
  return [...table.matchAll(/^\| (.+?) \| (.+?) \| (.+?) \|$/gm)]
    .filter(([, not = '']) => not !== 'not' && not !== '---')
    .flatMap(([, not = '', but = '', within = '']) => split(not).map((word) => ({ not: word, but, within: split(within) })));
}

// Darwin Core's names are not ours to choose.
const foreignNames = /\b(taxonID|lifeStage|HumanObservation)\b/g;

/** Uses of words that the glossary has another one for: in comments, texts and the parts of names. */
function listWordProblems(sources: Sources, synonyms: Synonym[]): string[] {
  return Object.entries(sources).flatMap(([file, text]) => {
    const words = text
      .replace(foreignNames, '')
      .replace(/([a-z0-9])(?=[A-Z])/g, '$1 ')
      .replaceAll('_', ' ');
    return synonyms
      .filter(({ within }) => within.some((beginning) => file.startsWith(`${beginning}/`)))
      .filter(({ not }) =>
        new RegExp(`(?<![\\p{L}])${not.replaceAll(' ', '\\s+(?:(?:--|//|\\*)\\s+)?')}s?(?![\\p{L}])`, 'iu').test(words),
      )
      .map(({ not, but }) => `${file} says ${not}: ${but}`);
  });
}

describe('the words of the glossary', () => {
  const synonyms = readSynonyms();

  it('are used instead of their synonyms', () => {
    assert.ok(synonyms.length > 20, 'the table is read');
    const sources = { ...readSources('src/**/*.{ts,js}'), ...readSources('sql/code/**/*.sql') };
    assert.deepEqual(listWordProblems(sources, synonyms), []);
  });

  it('are missed where a synonym stands in a name, in a comment, in the plural or over two lines', () => {
    const caught = (file: string, text: string) => listWordProblems({ [file]: text }, synonyms).length;
    assert.equal(caught('src/db/a.ts', 'export function listObservations() {}\n'), 1);
    assert.equal(caught('sql/code/a.sql', 'select observer_id\n'), 1);
    assert.equal(caught('sql/code/a.sql', '-- Everybody is shown the exact\n-- place of it.\n'), 1);
    assert.equal(caught('src/media/a.ts', 'const draft = 1;\n'), 1);
    assert.equal(caught('src/jobs/a.ts', 'const draft = 1;\n'), 0);
    assert.equal(caught('src/db/a.ts', '// The sighting of a recorder, masked.\n'), 0);
  });
});
