// Settings: those that can't be used are told in one line; and what stands on the terminal of them, once the service listens.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, describeSettings, loadConfig } from '../src/config.ts';
import { openDatabase, poolSizeOf, reservedConnections } from '../src/db/client.ts';
import { describeFirstSteps } from '../src/welcome.ts';

const url = 'https://example.org/grenzen.geojson';

describe('the boundary settings', () => {
  it('are none without an address, and have the defaults of D5 with one', () => {
    assert.equal(loadConfig({}).boundary, null);
    assert.deepEqual(loadConfig({ BOUNDARY_URL: url }).boundary, {
      url,
      key: 'kuerzel',
      filter: null,
      cron: '0 3 * * *',
      allowPrivate: false,
    });
    assert.deepEqual(
      loadConfig({
        BOUNDARY_URL: 'file:///srv/grenzen.geojson',
        BOUNDARY_KEY: 'SN_L',
        BOUNDARY_FILTER: 'GF = 4=a',
        BOUNDARY_CRON: '*/30 0-6,22 1,15 * 1-5',
        BOUNDARY_ALLOW_PRIVATE: 'true',
      }).boundary,
      {
        url: 'file:///srv/grenzen.geojson',
        key: 'SN_L',
        filter: { property: 'GF', value: '4=a' },
        cron: '*/30 0-6,22 1,15 * 1-5',
        allowPrivate: true,
      },
    );
  });

  const refused: [name: string, values: string[]][] = [
    ['BOUNDARY_URL', ['grenzen.geojson', 'ftp://example.org/x', 'https://', 'https://[x]/']],
    ['BOUNDARY_FILTER', ['GF', '=4', 'GF=']],
    ['BOUNDARY_ALLOW_PRIVATE', ['vielleicht']],
    [
      'BOUNDARY_CRON',
      [
        ...['3', '0 3 * *', '0 3 * * * *', '60 3 * * *', '0 24 * * *', '0 3 0 * *', '0 3 * 13 *', '0 3 * * 8', '0 5-3 * * *'],
        ...['*/0 3 * * *', '0 3 * * montags', '@daily', '0 3 31 2,4 *', '0 3 , * *'],
      ],
    ],
  ];
  for (const [name, values] of refused) {
    for (const value of values) {
      it(`${name} can't be ${value}`, () => {
        assert.throws(
          () => loadConfig({ BOUNDARY_URL: url, [name]: value }),
          (error) => error instanceof ConfigError && error.message.startsWith(`${name} ist`) && !error.message.includes('\n'),
        );
      });
    }
  }
});

describe('connections and threads', () => {
  it('are as many as is said', async () => {
    assert.deepEqual(loadConfig({ DB_POOL: '7', PHOTO_WORKERS: '1' }).dbPool, 7);
    assert.deepEqual(loadConfig({ DB_POOL: '7', PHOTO_WORKERS: '1' }).photoWorkers, 1);
    const database = await openDatabase({ ...loadConfig({ DB_POOL: '7' }), databaseUrl: 'postgres://x@127.0.0.1:1/x' });
    assert.equal(database.sql.options.max, 7 + reservedConnections);
    await database.close();
  });

  it('follow the cores without, within bounds', async () => {
    const { dbPool, photoWorkers } = loadConfig({ DB_POOL: ' ' });
    assert.deepEqual([dbPool, photoWorkers], [undefined, undefined]);
    assert.deepEqual([1, 2, 4, 8, 64].map(poolSizeOf), [4, 4, 8, 16, 16]);
  });

  for (const [name, values] of Object.entries({ DB_POOL: ['3', '201', 'viele', '-4'], PHOTO_WORKERS: ['0', '65', '1.5'] }))
    for (const value of values)
      it(`${name} can't be ${value}`, () => {
        assert.throws(() => loadConfig({ [name]: value }), {
          message: new RegExp(`^${name} ist „${value}“, erlaubt ist eine ganze Zahl`),
        });
      });
});

describe('settings of the release before', () => {
  it('are understood by their old names, which a line at the start says', () => {
    const former = { ROLE: 'web', HANDOVER: '3', BOUNDARY_PRIVATE: 'true', BOUNDARY_URL: url, MIN_SEND_RATE: '5' };
    const { role, drainSeconds, boundary, notes } = loadConfig(former);
    assert.deepEqual([role, drainSeconds, boundary?.allowPrivate], ['web', 3, true]);
    assert.deepEqual(notes, [
      'HANDOVER heißt jetzt DRAIN_SECONDS; der alte Name gilt nur noch in dieser Version.',
      'ROLE heißt jetzt PROCESS_ROLE; der alte Name gilt nur noch in dieser Version.',
      'BOUNDARY_PRIVATE heißt jetzt BOUNDARY_ALLOW_PRIVATE; der alte Name gilt nur noch in dieser Version.',
      'MIN_SEND_RATE hat keine Wirkung mehr und kann wegfallen.',
    ]);
  });

  it('give way to the new names', () => {
    assert.equal(loadConfig({ ROLE: 'web', PROCESS_ROLE: 'worker' }).role, 'worker');
    assert.deepEqual(loadConfig({ PROCESS_ROLE: 'worker' }).notes, []);
  });
});

describe('DATABASE_READ_URL', () => {
  const DATABASE_URL = 'postgres://p@db1/p';

  it('is none or one, also by its old name', () => {
    assert.equal(loadConfig({ DATABASE_URL }).readDatabaseUrl, null);
    for (const name of ['DATABASE_READ_URL', 'DATABASE_REPLICA_URL'])
      assert.equal(loadConfig({ DATABASE_URL, [name]: ' postgres://p@db2/p\n' }).readDatabaseUrl, 'postgres://p@db2/p');
  });

  for (const value of ['db2', 'mysql://db2/p', 'postgres://', 'postgres://p:geheim@db2/p postgres://p:geheim@db3/p'])
    it(`can't be ${value}, which is told without a password`, () => {
      assert.throws(
        () => loadConfig({ DATABASE_URL, DATABASE_READ_URL: value }),
        (error) => error instanceof ConfigError && /^DATABASE_READ_URL /.test(error.message) && !/geheim/.test(error.message),
      );
    });

  it('needs a database of its own kind', () => {
    assert.throws(() => loadConfig({ DATABASE_READ_URL: 'postgres://db2/p' }), {
      message: /^DATABASE_READ_URL steht ohne DATABASE_URL da/,
    });
  });
});

describe('several servers in DATABASE_URL', () => {
  it('are refused with what is allowed', async () => {
    const databaseUrl = 'postgres://p@127.0.0.1:1,127.0.0.1:2/p';
    await assert.rejects(openDatabase({ databaseUrl, dataDir: '' }), { message: /nennt mehrere Server, erlaubt ist einer/ });
  });
});

describe('MEDIA_URL', () => {
  const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'geheim' };
  const settings = {
    ...{ endpoint: 'https://s3.us-east-1.amazonaws.com', region: 'us-east-1' },
    ...{ accessKeyId: 'id', secretAccessKey: 'geheim' },
  };

  it('is a directory, below DATA_DIR without it, or a bucket with or without a prefix', () => {
    assert.deepEqual(loadConfig({ DATA_DIR: '/srv' }).media, { directory: '/srv/media' });
    assert.deepEqual(loadConfig({ MEDIA_URL: 'fotos/2026' }).media, { directory: 'fotos/2026' });
    for (const [url, prefix] of [
      ['s3://fotos', ''],
      ['s3://fotos/', ''],
      ['s3://fotos/a/b', 'a/b'],
      ['s3://fotos//a/b//', 'a/b'],
    ] as const)
      assert.deepEqual(loadConfig({ MEDIA_URL: url, ...keys }).media, { bucket: 'fotos', prefix, settings }, url);
  });

  for (const url of ['s3://', 's3://A_B', 's3://media/ä', 's3://media?x', 'http://media', 'file:///srv/media'])
    it(`${url} is refused with what is allowed`, () => {
      assert.throws(() => loadConfig({ MEDIA_URL: url, ...keys }), { message: /^MEDIA_URL ist „.*s3:\/\/bucket\/präfix/ });
    });

  it('with S3 needs its keys', () => {
    assert.throws(() => loadConfig({ MEDIA_URL: 's3://media' }), ConfigError);
  });
});

describe('the terminal', () => {
  it('a worker names its health, and no map', () => {
    for (const [role, expected] of [
      ['web', /Karte: http:\/\/localhost:8081\/karte\n/],
      ['all', /Karte: http:\/\/localhost:8081\/karte\n/],
      [
        'worker',
        /^\nDer Dienst läuft, nur für Aufträge \(PROCESS_ROLE=worker\)\. Zustand: http:\/\/localhost:8081\/health\/ready\n\n$/,
      ],
    ] as const)
      assert.match(describeFirstSteps(loadConfig({ PROCESS_ROLE: role, PORT: '8081' }), [], 'postgres', []), expected);
  });

  it('says that a public port wants a proxy, until there is one', () => {
    const said = (TRUST_PROXY: string) => describeFirstSteps(loadConfig({ TRUST_PROXY }), [], 'postgres', []);
    assert.match(said('false'), /\nVor einen öffentlichen Port gehört ein Proxy/);
    assert.doesNotMatch(said('1'), /Proxy/);
  });

  it('--help has room between the name of a setting and what it means', () => {
    const [, ...lines] = describeSettings().split('\n');
    assert.ok(lines.length > 30);
    for (const line of lines) assert.match(line, /^ {2}[A-Z0-9_]+ {2}/);
  });
});
