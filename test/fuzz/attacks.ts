// What was done to the service once, each of which stopped it.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/db/client.ts';
import { makeScatteredMp4 } from '../support/audio-mp4.ts';
import { makeJpeg } from '../support/photo.ts';
import { credentialsOf, encodeMultipart, encodeRequest, type RequestParts } from './encode.ts';
import type { Account, Site } from './site.ts';

/** What an attack works with; it goes on until the signal. */
export interface Arms {
  site: Site;
  signal: AbortSignal;
  /** Sends a request from the attacker's address and waits for what comes, at most so long. */
  send(parts: Partial<RequestParts> & Pick<RequestParts, 'target'>, as?: Account | null, patienceMs?: number): Promise<string>;
  /** Opens a connection, writes this, and leaves it to the attack. */
  open(bytes: Buffer): Socket;
}

interface Attack {
  name: string;
  run(arms: Arms): Promise<unknown>;
}

const marks = (count: number) => '%CC%80%CC%A3'.repeat(count / 2);
const urlencoded = [['Content-Type', 'application/x-www-form-urlencoded']] as const;
const post = (target: string, body: string): RequestParts => ({
  method: 'POST',
  target,
  headers: [['Host', 'localhost'], ...urlencoded],
  body: Buffer.from(body),
});
const report = 'art=40&lat=5480000&lon=410000&datum=2.5.2024';

/** A report with a file. */
const reportWith = (name: string, content: Buffer, n: number): RequestParts => {
  const fields = { art: '40', lat: '5480000', lon: String(410_001 + n), datum: '2.5.2024' };
  const parts = Object.entries(fields).map(([key, value]) => ({ name: key, content: value }));
  return {
    method: 'POST',
    target: '/api/v2/sichtbeobachtungen',
    headers: [
      ['Host', 'localhost'],
      ['Content-Type', 'multipart/form-data; boundary=b'],
    ],
    body: encodeMultipart([...parts, { name, content, filename: 'x' }], 'b'),
  };
};

/** The same over and over, so many at once, until the end. */
async function repeat(signal: AbortSignal, lanes: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let count = 0;
  const lane = async () => {
    while (!signal.aborted) await work(count++).catch(() => {});
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

const bodyOf = (line: string, length: string, chunk: string) => ({
  head: `${line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n${length}\r\n\r\n`,
  chunk: Buffer.from(chunk),
});
const manyBytes = 'a'.repeat(65_536);
const lengthOf54MB = 'Content-Length: 54000000';
const shortChunks = `12c\r\n${'a'.repeat(300)}\r\n`.repeat(200);
const inChunks = 'Transfer-Encoding: chunked';
/** What is written as fast as the other side takes it. */
const floods: Record<string, { head: string; chunk: Buffer }> = {
  'bodies that nobody wants': bodyOf('POST /api/v2/login', lengthOf54MB, manyBytes),
  'bodies behind a raw line': bodyOf('POST /api/v2/login?ä', lengthOf54MB, manyBytes),
  'bodies of lists': bodyOf('GET /api/v2/arten', lengthOf54MB, manyBytes),
  'short chunks': bodyOf('GET /api/v2/arten', inChunks, shortChunks),
  'short chunks behind a raw line': bodyOf('GET /api/v2/arten?ä', inChunks, shortChunks),
  'empty lines': { head: '', chunk: Buffer.from('\r\n'.repeat(32_768)) },
};

export const attacks: Attack[] = [
  {
    name: 'H1 forms without a usable boundary, reset after some milliseconds',
    run: ({ signal, open }) =>
      repeat(signal, 20, async (n) => {
        const type = [
          'multipart/form-data',
          'multipart/form-data; boundary=',
          `multipart/form-data; boundary=${'b'.repeat(9000)}`,
        ][n % 3];
        const head = `POST /api/v2/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: 100000\r\n\r\nxxx`;
        const socket = open(Buffer.from(head));
        await sleep(n % 8);
        socket.resetAndDestroy();
      }),
  },
  {
    name: 'H2 first names of combining marks, login names of them in the header',
    run: ({ signal, send, site }) =>
      repeat(signal, 4, async (n) => {
        await send(post('/api/v2/register', `loginname=a${n}&email=a%40example.org&nachname=b&vorname=a${marks(20_000)}`));
        const name = Buffer.from(`a${'\u0300\u0323'.repeat(3500)}`).toString('latin1');
        await send({
          target: '/api/v2/arten',
          headers: [['Host', 'localhost'], ...credentialsOf({ ...site.roles.reporter, loginname: name })],
        });
      }),
  },
  {
    name: 'H3 logins with names of combining marks',
    run: ({ signal, send }) => repeat(signal, 4, () => send(post('/api/v2/login', `password=x&loginname=a${marks(20_000)}`))),
  },
  {
    name: 'H4 numbers that are none',
    run: ({ signal, send, site }) =>
      repeat(signal, 20, async (n) => {
        if (n % 4 === 0)
          await send(post('/api/v2/sichtbeobachtungen', `art=40&lon=1&lat=${'1'.repeat(120_000)}x`), site.roles.reporter);
        else await send({ target: `/api/v2/sichtbeobachtungen?bbox=${'1'.repeat(15_000)}x,1,2,3` });
      }),
  },
  {
    name: 'H5 remarks as long as they may be, and longer; pages of them as XML',
    async run({ signal, send, site }) {
      const remark = '%01'.repeat(4000);
      await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          send(
            post('/api/v2/sichtbeobachtungen', `${report}&lon=${410_001 + n}&bereich=oeffentlich&bemerkung=${remark}`),
            site.roles.reporter,
          ),
        ),
      );
      await repeat(signal, 8, async (n) => {
        if (n % 8 === 0)
          await send(post('/api/v2/sichtbeobachtungen', `${report}&bemerkung=${'x'.repeat(1_000_000)}`), site.roles.reporter);
        else
          await send(
            { target: `/api/v2/sichtbeobachtungen?limit=1000&format=${n % 2 ? 'xml' : 'json'}&n=${n}` },
            site.roles.neighbour,
          );
      });
    },
  },
  {
    name: 'remarks of what has to be escaped in a script; pages of them with callback, a hundred at once, nearly unread',
    async run({ signal, site, open }) {
      const { reporter } = site.roles;
      const { DATABASE_URL: databaseUrl } = site.env;
      if (!databaseUrl) return;
      // As many as make a full page; by SQL, because an attack lasts seconds.
      const database = await openDatabase({ databaseUrl, dataDir: '' });
      await database.sql`
        insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bemerkung)
        select ${reporter.id}::bigint, 40, st_setsrid(st_makepoint(412000 + n, 5480000), 25832), date '2024-05-02', repeat('<', 4000)
        from generate_series(1, 520) n`;
      await database.close();
      await repeat(signal, 100, async (n) => {
        const fields = n % 2 ? '' : '&restrict=bemerkung';
        const socket = open(
          encodeRequest({
            method: 'GET',
            target: `/api/v2/sichtbeobachtungen?limit=1000&bereich=persoenlich&callback=a&n=${n}${fields}`,
            headers: [['Host', 'localhost'], ...credentialsOf(reporter)],
          }),
        );
        await Promise.race([once(socket, 'data'), once(socket, 'close'), sleep(5000, undefined, { ref: false })]);
        socket.resetAndDestroy();
      });
    },
  },
  {
    name: 'M2 a database session that holds every advisory lock',
    async run({ signal, site, send }) {
      const { DATABASE_URL: databaseUrl } = site.env;
      if (!databaseUrl) return;
      const database = await openDatabase({ databaseUrl, dataDir: '' });
      const analyst = database.connect();
      await analyst`select pg_try_advisory_lock(25832, n) from generate_series(0, 9) n`;
      let lon = 420_000;
      await repeat(signal, 2, () => send(post('/api/v2/sichtbeobachtungen', `${report}&lon=${lon++}`), site.roles.reporter));
      await database.close();
    },
  },
  {
    name: 'M6 uploads a byte at a time, and readers that do not read',
    async run({ signal, site, open }) {
      const { reporter } = site.roles;
      const photo = encodeMultipart([{ name: 'foto', content: Buffer.alloc(2000), filename: 'x.jpg' }], 'b', '');
      const bytes = encodeRequest({
        method: 'POST',
        target: '/api/v2/sichtbeobachtungen',
        headers: [
          ['Host', 'localhost'],
          ...credentialsOf(reporter),
          ['Content-Type', 'multipart/form-data; boundary=b'],
          ['Content-Length', '900000'],
        ],
      });
      const uploads = Array.from({ length: 8 }, () => open(Buffer.concat([bytes, photo])));
      const page = 'GET /api/v2/sichtbeobachtungen?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n';
      const readers = Array.from({ length: 40 }, () => open(Buffer.from(page.repeat(20))).pause());
      await repeat(signal, 1, async () => {
        for (const socket of uploads) socket.write('x');
        await sleep(50);
      });
      for (const socket of [...uploads, ...readers]) socket.destroy();
    },
  },
  {
    name: 'M7 seven hundred boxes at once',
    run: ({ signal, send }) =>
      repeat(signal, 1, () =>
        Promise.all(
          Array.from({ length: 700 }, (_, n) =>
            send({ target: `/api/v2/sichtbeobachtungen?bbox=${3e5 + n},5400000,700000,6000000&limit=1000` }),
          ),
        ),
      ),
  },
  {
    name: 'M7 a megabyte of field names',
    run: ({ signal, send }) =>
      repeat(signal, 8, (n) => send(post('/api/v2/login', n % 2 ? 'a=&'.repeat(40_000) : 'a=&'.repeat(350_000)))),
  },
  {
    name: "M7 somebody else's password, and many logins at once",
    run: ({ signal, send, site }) =>
      repeat(signal, 60, (n) =>
        n % 2
          ? send(
              { ...post(`/api/v2/nutzer/${site.roles.expert.id}`, `passwort=${'a'.repeat(40)}`), method: 'PUT' },
              site.roles.reporter,
            )
          : send(post('/api/v2/login', `loginname=melder%201&password=${site.roles.reporter.sha1}`)),
      ),
  },
  {
    name: 'L regular expressions that compute for long',
    run: ({ signal, send }) =>
      repeat(signal, 12, () =>
        send({ target: `/api/v2/arten?name_regexp_ci=${encodeURIComponent('(x?y?z?a?b?c?d?e?){1,240}q')}` }),
      ),
  },
  {
    name: 'L filters that find no statement of their own',
    run: ({ signal, send }) =>
      repeat(signal, 30, (n) =>
        send({
          target: `/api/v2/sichtbeobachtungen?titel_deutsch=%25a%25&datum_von=1.1.${2000 + (n % 26)}&is_animal=1&limit=1000&n=${n}`,
        }),
      ),
  },
  {
    name: 'forms of empty parts, in a new connection each and in a long one',
    async run({ signal, send, open, site }) {
      const head = encodeRequest({
        method: 'POST',
        target: '/api/v2/sichtbeobachtungen',
        headers: [
          ['Host', 'localhost'],
          ...credentialsOf(site.roles.reporter),
          ['Content-Type', 'multipart/form-data; boundary=b'],
          ['Content-Length', '50000000'],
        ],
      });
      const socket = open(Buffer.concat([head, Buffer.alloc(49_000_000, '--b\r\n\r\n')]));
      const parts = { headers: [['Host', 'localhost'] as const, ['Content-Type', 'multipart/form-data; boundary=b'] as const] };
      await repeat(signal, 16, () => send({ ...post('/api/v2/login', '--b\r\n\r\n'.repeat(18_000)), ...parts }));
      socket.destroy();
    },
  },
  {
    name: 'forms of short escapes, a hundred at once',
    run: ({ signal, send }) =>
      repeat(signal, 100, (n) => send(post('/api/v2/login', n % 2 ? '%41a'.repeat(32_000) : '%ff%41'.repeat(21_000)))),
  },
  {
    name: 'pipelines of nothing much, on as many connections as there are',
    run: ({ signal, open }) =>
      repeat(signal, 140, async () => {
        const socket = open(Buffer.from('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(4)));
        await Promise.race([once(socket, 'data'), once(socket, 'close'), sleep(1000)]);
        socket.destroy();
      }),
  },
  {
    name: 'pipelines of a thousand long pages',
    run: ({ signal, open }) =>
      repeat(signal, 6, async (n) => {
        const socket = open(
          Buffer.from(`GET /api/v2/sichtbeobachtungen?limit=1000&n=${n} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(1000)),
        );
        socket.pause();
        await sleep(1500);
        socket.resetAndDestroy();
      }),
  },
  ...(
    [
      ['requests without a host', 'GET / HTTP/1.1\r\n\r\n'],
      ['requests that expect something', 'GET / HTTP/1.1\r\nHost:\r\nExpect:x\r\n\r\n'],
      ['short requests', 'GET / HTTP/1.1\r\nHost:\r\n\r\n'],
      ['raw UTF-8 in addresses', 'GET /ä HTTP/1.1\r\nHost:\r\n\r\n'],
      [
        'bodies in tiny chunks',
        `${`POST / HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(1990)}0\r\n\r\n`.repeat(4)}`,
      ],
    ] as const
  ).map(([what, request]) => ({
    name: `64 kB of ${what} at the same moment on 145 connections`,
    run: ({ signal, open }: Arms) =>
      repeat(signal, 1, async () => {
        const sockets = Array.from({ length: 145 }, () => open(Buffer.alloc(0)));
        await sleep(1000);
        const volley = Buffer.from(request.repeat(Math.ceil(65_536 / request.length))).subarray(0, 65_536);
        for (const socket of sockets) socket.write(volley);
        await sleep(1500);
        for (const socket of sockets) socket.destroy();
      }),
  })),
  ...Object.entries(floods).map(([what, { head, chunk }]) => ({
    name: `${what}, as fast as they are taken, on 140 connections`,
    run: ({ signal, open }: Arms) =>
      repeat(signal, 140, async () => {
        const socket = open(Buffer.from(head));
        const write = () => {
          while (!signal.aborted && !socket.destroyed && socket.write(chunk));
        };
        socket.once('connect', write).on('drain', write);
        await Promise.race([once(socket, 'close'), once(signal, 'abort')]);
        socket.destroy();
        await sleep(20);
      }),
  })),
  {
    name: 'queries of thousands of names that nobody knows, four in a pipeline',
    run: ({ signal, open }) =>
      repeat(signal, 140, async (n) => {
        const names = Array.from({ length: 3000 }, (_, at) => (n * 3000 + at).toString(36)).join('&');
        const head = `GET /api/v2/sichtbeobachtungen?limit=1&${names.slice(0, 15_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
        const socket = open(Buffer.from(head.repeat(4)));
        await Promise.race([once(socket, 'data'), once(socket, 'close'), sleep(5000)]);
        socket.destroy();
      }),
  },
  {
    name: 'lists asked for on connections that are reset at once',
    run: ({ signal, open }) =>
      repeat(signal, 40, async (n) => {
        const socket = open(Buffer.from(`GET /api/v2/sichtbeobachtungen?limit=1000&n=${n} HTTP/1.1\r\nHost: localhost\r\n\r\n`));
        await Promise.race([once(socket, 'connect'), once(socket, 'close'), sleep(1000)]);
        await sleep(n % 3);
        socket.resetAndDestroy();
      }),
  },
  {
    name: 'heads of a thousand fields, eight in a pipeline, on connections that are ended at once',
    run: ({ signal, open }) => {
      const fields = Array.from({ length: 1000 }, (_, n) => `${n.toString(36)}:b\r\n`).join('');
      const volley = Buffer.from(`GET /health/live HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`.repeat(8));
      return repeat(signal, 100, async () => {
        const socket = open(volley);
        socket.end();
        await Promise.race([once(socket, 'close'), sleep(200)]);
        socket.destroy();
      });
    },
  },
  {
    name: 'request lines of 64 kB of raw bytes',
    run: ({ signal, open }) => {
      const line = Buffer.concat([
        Buffer.from('GET /'),
        Buffer.alloc(64_000, 0xe4),
        Buffer.from(' HTTP/1.1\r\nHost: localhost\r\n\r\n'),
      ]);
      return repeat(signal, 140, async () => {
        const socket = open(line);
        await Promise.race([once(socket, 'close'), sleep(5000)]);
        socket.destroy();
      });
    },
  },
  {
    name: 'heads of 14 kB on connections that live on',
    run: ({ signal, open }) => {
      const head = Buffer.from(`GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(14_000)}\r\n\r\n`.repeat(2));
      return repeat(signal, 145, async () => {
        const socket = open(head);
        socket.on('data', () => socket.write(head));
        await Promise.race([once(socket, 'close'), sleep(3000)]);
        socket.destroy();
      });
    },
  },
  {
    name: 'more connections than are let in, beside forms and pages that take long',
    run: ({ signal, send, open }) =>
      Promise.all([
        repeat(signal, 20, async () => {
          const socket = open(Buffer.alloc(0));
          await Promise.race([once(socket, 'connect'), once(socket, 'close'), sleep(200)]);
          socket.resetAndDestroy();
        }),
        repeat(signal, 60, () => send(post('/api/v2/register', '+'.repeat(130_000)))),
        repeat(signal, 60, (n) => send({ target: `/api/v2/sichtbeobachtungen?limit=1000&callback=a&n=${n}` })),
      ]),
  },
  {
    name: 'parts without end behind a boundary that is none',
    run: ({ signal, send }) => {
      const type = 'multipart/form-data; x="boundary=zzzz"; boundary=b';
      const headers = [['Host', 'localhost'] as const, ['Content-Type', type] as const];
      return repeat(signal, 60, () => send({ ...post('/api/v2/login', '--b\r\n\r\n\r\n'.repeat(12_000)), headers }));
    },
  },
  {
    name: 'sound files that take long to clean, and photos, beside right logins',
    async run({ signal, send, site }) {
      const { reporter, restricted } = site.roles;
      const file = (name: string, content: Buffer, n: number) => send(reportWith(name, content, n), reporter, 20_000);
      const photo = await makeJpeg({ width: 2000, height: 1500, noise: 20 });
      const sound = makeScatteredMp4();
      const login = post('/api/v2/login', `loginname=${restricted.loginname}&password=${restricted.sha1}`);
      await Promise.all([
        repeat(signal, 2, (n) => file('audio', sound, n)),
        repeat(signal, 2, (n) => file('foto', photo, n)),
        repeat(signal, 4, () => send(login)),
      ]);
    },
  },
  {
    name: "wrong passwords in the witness's name, beside photos",
    async run({ signal, send, site }) {
      const photo = await makeJpeg({ width: 2000, height: 1500, noise: 20 });
      const login = post('/api/v2/login', `loginname=${site.witness.loginname}&password=${'b'.repeat(40)}`);
      await Promise.all([
        repeat(signal, 2, (n) => send(reportWith('foto', photo, n), site.roles.reporter, 20_000)),
        repeat(signal, 6, () => send(login)),
      ]);
    },
  },
  {
    name: 'parts whose heads take long to decode, a hundred and fifty at once',
    run: ({ signal, send }) => {
      const part = `--b\r\nContent-Disposition: form-data; name="x"; filename*=utf-8''${'%C3%A4'.repeat(1300)}\r\n\r\nx\r\n`;
      const headers = [['Host', 'localhost'] as const, ['Content-Type', 'multipart/form-data; boundary=b'] as const];
      return repeat(signal, 150, () => send({ ...post('/api/v2/login', `${part.repeat(4)}--b--\r\n`), headers }));
    },
  },
  {
    name: 'short pages as XML, a hundred and fifty at once',
    run: ({ signal, send, site }) =>
      repeat(signal, 150, (n) =>
        send({ target: `/api/v2/sichtbeobachtungen?limit=90&format=xml&n=${n}` }, n % 2 ? site.roles.neighbour : null),
      ),
  },
  {
    name: 'long pages of the feed, sixty at once, beside long own pages and right logins',
    run: ({ signal, send, site }) => {
      const { reporter } = site.roles;
      const login = post('/api/v2/login', `loginname=${reporter.loginname}&password=${reporter.sha1}`);
      return Promise.all([
        // None asks for what another one is told.
        repeat(signal, 60, (n) => send({ target: `/abgleich/v1/sichtbeobachtungen?limit=${900 + (n % 101)}` })),
        repeat(signal, 20, (n) => send({ target: `/api/v2/sichtbeobachtungen?bereich=persoenlich&limit=1000&n=${n}` }, reporter)),
        repeat(signal, 4, () => send(login)),
      ]);
    },
  },
];
